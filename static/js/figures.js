// The figures of a comparison: values in, what Plotly draws out.
import { armColor, color } from "./palette.js";

const SYMBOLS = { A: "circle", B: "diamond", C: "square", D: "triangle-up", E: "triangle-down", F: "cross" };
export const DASHES = { A: "5px,3px", B: "solid", C: "8px,2px,2px,2px", D: "2px,2px", E: "10px,3px", F: "1px,3px" };

/** Plotly reads a little markup in its texts: names are only ever text. */
export const escaped = (text) =>
  String(text).slice(0, 80).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

export const FEW = 2; // arms whose names stand on their lines; more of them would cover each other

export const font = () => ({ family: getComputedStyle(document.body).fontFamily, size: 11, color: color("--ink-3") });

const axis = (over) => ({
  gridcolor: color("--hair"),
  linecolor: color("--rule"),
  zeroline: false,
  automargin: true,
  fixedrange: true,
  tickfont: font(),
  ...over,
});

function byConcurrency(series) {
  const known = [...new Set(series.flatMap((side) => side.points.map((point) => point.c)))].sort((a, b) => a - b);
  const log2 = known.map((c) => Math.log2(c));
  const pad = 0.35;
  return axis({
    tickvals: log2,
    ticktext: known.map(String),
    range: [Math.min(...log2) - pad, Math.max(...log2) + pad],
    showgrid: false,
    title: { text: "concurrency, log2", font: font(), standoff: 6 },
  });
}

const line = (side) => ({
  mode: "lines+markers",
  type: "scatter",
  name: escaped(side.name),
  line: { color: armColor(side.letter), width: 2, dash: DASHES[side.letter] },
  marker: { symbol: SYMBOLS[side.letter], size: 8, color: armColor(side.letter) },
  opacity: side.provisional ? 0.6 : 1,
});

/** The arm's name at one of its points instead of a legend far away. */
const label = (side, x, y, shift) => ({
  x,
  y,
  text: `<b>${escaped(side.name)}</b>`,
  showarrow: false,
  font: { ...font(), color: armColor(side.letter) },
  xanchor: "center",
  yshift: shift,
});

/**
 * Above and left for the highest line, below and right for the others: throughput rises, and there
 * no line passes. At the level where they part most, and within the chart rather than at its edge.
 */
function labels(series, key) {
  if (series.length > FEW) return []; // then there is a legend
  const ends = series
    .map((side) => ({ side, points: only(side, key) }))
    .filter(({ points }) => points.length);
  const common = ends.length
    ? ends[0].points.map((p) => p.c).filter((c) => ends.every(({ points }) => points.some((p) => p.c === c)))
    : [];
  const at = (points, c) => points.find((p) => p.c === c) ?? points[points.length - 1];
  const spread = (c) => {
    const values = ends.map(({ points }) => at(points, c)[key]);
    return Math.max(...values) - Math.min(...values);
  };
  const inner = common.length > 2 ? common.slice(1, -1) : common;
  const place = inner.reduce((best, c) => (best === null || spread(c) > spread(best) ? c : best), null);
  const ordered = ends.map(({ side, points }) => ({ side, point: at(points, place) }));
  ordered.sort((a, b) => b.point[key] - a.point[key]);
  const all = series.flatMap((side) => side.points.map((point) => point.c));
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return ordered.map(({ side, point }, i) => ({
    ...label(side, Math.log2(point.c), point[key], i === 0 ? 15 : -15),
    // a name at the edge would be cut
    xanchor: point.c === most ? "right" : point.c === least || i > 0 ? "left" : "right",
  }));
}

/** Tint from the lowest running limit on that a measured level lies above: there the queue is measured too. */
function capped(series) {
  const most = Math.max(...series.flatMap((side) => side.points.map((point) => point.c)));
  const limits = series
    .filter((side) => side.limit !== null && side.points.some((point) => point.c > side.limit))
    .map((side) => side.limit);
  if (!limits.length) return { shapes: [], note: [] };
  const from = Math.log2(Math.min(...limits));
  const words = [...new Set(limits)].sort((a, b) => b - a).join(", ");
  return {
    shapes: [{ type: "rect", xref: "x", yref: "paper", x0: from, x1: Math.log2(most) + 0.35, y0: 0, y1: 1, fillcolor: color("--warn-tint"), line: { width: 0 }, layer: "below" }],
    note: [{ x: 1, xref: "paper", xanchor: "right", yref: "paper", y: 0.01, yanchor: "bottom", text: `capped: ${words} `, showarrow: false, font: { ...font(), color: color("--warn") } }],
  };
}

const only = (side, key) => side.points.filter((point) => (point[key] ?? null) !== null);

/** The 95 % interval of each mean, where it has one. */
function whiskers(points) {
  if (!points.some((point) => (point.low ?? null) !== null)) return {};
  return {
    error_y: {
      type: "data",
      symmetric: false,
      array: points.map((point) => ((point.high ?? null) === null ? 0 : Math.max(0, point.high - point.output))),
      arrayminus: points.map((point) => ((point.low ?? null) === null ? 0 : Math.max(0, point.output - point.low))),
      thickness: 1.25,
      width: 4,
    },
  };
}

function sweep(series, key, words, from) {
  const traces = series.map((side) => ({
    ...line(side),
    ...(key === "output" ? whiskers(only(side, key)) : {}),
    x: only(side, key).map((point) => Math.log2(point.c)),
    y: only(side, key).map((point) => point[key]),
    customdata: only(side, key).map((point) => point.c),
    hovertemplate: `%{customdata}: %{y:,.4~g} ${words}<extra>${escaped(side.name)}</extra>`,
  }));
  const band = capped(series);
  const highest = Math.max(...traces.flatMap((trace) => trace.y));
  return {
    traces: key === "output" ? [...launches(series), ...traces] : key === "accept" ? [...traces, ...breakEven(series)] : traces,
    layout: {
      xaxis: byConcurrency(series),
      yaxis: axis({ range: [from, from + (highest - from) * 1.14], tickformat: ",~g", nticks: 6 }),
      shapes: band.shapes,
      annotations: [...band.note, ...labels(series, key)],
    },
  };
}

/** Each launch as a small mark, where there is more than one. */
function launches(series) {
  return series.map((side) => {
    const repeated = side.points.filter((point) => point.launches.length > 1);
    return {
      type: "scatter",
      mode: "markers",
      hoverinfo: "skip",
      showlegend: false,
      x: repeated.flatMap((point) => point.launches.map(() => Math.log2(point.c))),
      y: repeated.flatMap((point) => point.launches),
      marker: { symbol: "line-ew-open", size: 9, color: armColor(side.letter), line: { width: 1.25 } },
    };
  });
}

/** Beside each arm's points the accept len at which it would be no faster than the baseline. */
function breakEven(series) {
  if (series.length > FEW) return []; // the table says it of many arms
  return series.map((side) => ({
    type: "scatter",
    mode: "markers",
    showlegend: false,
    x: only(side, "even").map((point) => Math.log2(point.c)),
    y: only(side, "even").map((point) => point.even),
    customdata: only(side, "even").map((point) => point.c),
    hovertemplate: `%{customdata}: breaks even at %{y:.2f}<extra>${escaped(side.name)}</extra>`,
    marker: { symbol: "line-ew-open", size: 15, color: armColor(side.letter), line: { width: 2 } },
  }));
}

/** The middle of the longest stretch between two points: there is room for a name. */
function amid(points, key) {
  if (points.length < 2) return { x: points[0].user, y: points[0][key] };
  const most = { x: Math.max(...points.map((p) => p.user)), y: Math.max(...points.map((p) => p[key])) };
  const long = (a, b) => Math.hypot((a.user - b.user) / most.x, (a[key] - b[key]) / most.y);
  const ends = points.slice(1).map((point, i) => [points[i], point]);
  const [a, b] = ends.reduce((best, pair) => (long(...pair) > long(...best) ? pair : best));
  return { x: (a.user + b.user) / 2, y: (a[key] + b[key]) / 2 };
}

function pareto(series, { front }) {
  const key = series.every((side) => side.gpus) ? "gpu" : "output";
  const both = (side) => only(side, key).filter((point) => point.user !== null);
  const middle = (side) => both(side).reduce((sum, point) => sum + point.user, 0) / both(side).length;
  const named = series.filter((side) => both(side).length);
  // words stand on the outer side of the leftmost line, and right of the others
  const leftmost = named.reduce((best, side) => (best && middle(best) <= middle(side) ? best : side), null);
  const traces = series.map((side) => ({
    ...line(side),
    mode: series.length > FEW ? "lines+markers" : "lines+markers+text",
    x: both(side).map((point) => point.user),
    y: both(side).map((point) => point[key]),
    text: both(side).map((point) => ` ${point.c} `),
    cliponaxis: false,
    textposition: side === leftmost ? "middle left" : "middle right",
    textfont: font(),
    hovertemplate: `%{text} clients: %{y:,.0f} tok/s${key === "gpu" ? " per GPU" : ""}, %{x:.0f} per user<extra>${escaped(side.name)}</extra>`,
  }));
  const upTo = (key) => [0, Math.max(1, ...traces.flatMap((trace) => trace[key])) * 1.14];
  const best = (front ?? [])
    .map(([letter, c]) => series.find((side) => side.letter === letter)?.points.find((point) => point.c === c))
    .filter(Boolean);
  const joined = {
    type: "scatter",
    mode: "lines",
    hoverinfo: "skip",
    line: { color: color("--accent"), width: 7 },
    opacity: 0.2,
    showlegend: false,
    x: best.map((point) => point.user),
    y: best.map((point) => point[key]),
  };
  return {
    traces: best.length > 1 ? [joined, ...traces] : traces,
    layout: {
      xaxis: axis({ title: { text: "tok/s per user", font: font(), standoff: 6 }, range: upTo("x"), nticks: 6 }),
      yaxis: axis({ range: upTo("y"), tickformat: ",~g", nticks: 6 }),
      annotations: (series.length > FEW ? [] : named).map((side) => {
        const { x, y } = amid(both(side), key);
        // a single point has its number at its side, so its name goes above
        if (both(side).length < 2) return { ...label(side, x, y, 15), xanchor: "right" };
        return side === leftmost
          ? { ...label(side, x, y, 0), xanchor: "right", xshift: -10 }
          : { ...label(side, x, y, 0), xanchor: "left", xshift: 10 };
      }),
    },
  };
}

/** Each arm's change with its interval; within the grey zone nobody cares. */
function delta(series, { changes }) {
  const shown = (changes ?? []).filter((side) => side.points.length);
  const width = 0.09;
  const traces = shown.map((side, i) => {
    const shift = (i - (shown.length - 1) / 2) * width;
    const reach = (point, end) => (point[end] === null ? 0 : Math.abs(point[end] - point.change) * 100);
    return {
      ...line({ ...side, provisional: false }),
      mode: "markers",
      x: side.points.map((point) => Math.log2(point.c) + shift),
      y: side.points.map((point) => point.change * 100),
      customdata: side.points.map((point) => [point.c, point.word]),
      error_y: {
        type: "data",
        symmetric: false,
        array: side.points.map((point) => reach(point, "high")),
        arrayminus: side.points.map((point) => reach(point, "low")),
        thickness: 1.5,
        width: 4,
      },
      hovertemplate: `%{customdata[0]}: %{y:+.1f} %, %{customdata[1]}<extra>${escaped(side.name)}</extra>`,
    };
  });
  const zone = shown.length ? shown[0].delta * 100 : 0;
  const ends = traces.flatMap((trace) => trace.y.flatMap((y, k) => [y + trace.error_y.array[k], y - trace.error_y.arrayminus[k]]));
  const [low, high] = [Math.min(-zone, ...ends), Math.max(zone, ...ends)];
  const pad = (high - low) * 0.08;
  return {
    traces,
    layout: {
      xaxis: byConcurrency(series),
      yaxis: axis({ range: [low - pad, high + pad], ticksuffix: " %", nticks: 6, zeroline: true, zerolinecolor: color("--rule") }),
      shapes: [{ type: "rect", xref: "paper", x0: 0, x1: 1, yref: "y", y0: -zone, y1: zone, fillcolor: color("--same-tint"), line: { width: 0 }, layer: "below" }],
    },
  };
}

/** Share of requests by TTFT: each launch thin, all of an arm together thick. */
export function ecdf(arms) {
  const step = (values, over) => ({
    type: "scatter",
    mode: "lines",
    line: { shape: "hv", ...over },
    x: values.map((value) => value * 1000),
    y: values.map((_, i) => ((i + 1) / values.length) * 100),
  });
  const traces = arms.flatMap((arm) => {
    const all = arm.launches.flatMap((launch) => launch.ttft).sort((a, b) => a - b);
    const thin = arm.launches.map((launch) => ({
      ...step(launch.ttft, { color: armColor(arm.letter), width: 1 }),
      opacity: 0.45,
      hoverinfo: "skip",
      showlegend: false,
    }));
    return [
      ...(thin.length > 1 ? thin : []),
      {
        name: escaped(arm.name),
        ...step(all, { color: armColor(arm.letter), width: 2.25, dash: DASHES[arm.letter] }),
        hovertemplate: `%{y:.0f} % within %{x:,.0f} ms<extra>${escaped(arm.name)}</extra>`,
      },
    ];
  });
  return {
    traces,
    layout: {
      xaxis: axis({ title: { text: "TTFT, ms", font: font(), standoff: 6 }, rangemode: "tozero", nticks: 6 }),
      yaxis: axis({ range: [0, 102], ticksuffix: " %", nticks: 6 }),
    },
  };
}

export const FIGURES = {
  output: (series) => sweep(series, "output", "tok/s", 0),
  pareto,
  accept: (series) => sweep(series, "accept", "accept len", 1),
  steps: (series) => sweep(series, "steps", "steps/s", 0),
  delta,
};

export const MISSING = {
  output: "No aggregate tok/s was measured.",
  pareto: "Needs aggregate tok/s and tok/s per user of the same level.",
  accept: "No accept len was read: it comes from the server's log.",
  steps: "Needs the server's log: the step rate comes from its lines.",
  delta: "Needs a level that both arms measured.",
};
