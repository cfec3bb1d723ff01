// The three charts of a comparison, drawn by Plotly when they come into view.
import { armColor, color, onTheme } from "./palette.js";

const SYMBOLS = { A: "circle", B: "diamond", C: "square", D: "triangle-up", E: "triangle-down", F: "cross" };
const DASHES = { A: "5px,3px", B: "solid", C: "8px,2px,2px,2px", D: "2px,2px", E: "10px,3px", F: "1px,3px" };

const SOON = 1500; // ms: the sentence and the tables come first

/** Plotly reads a little markup in its texts: names are only ever text. */
export const escaped = (text) =>
  String(text).slice(0, 80).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const font = () => ({ family: getComputedStyle(document.body).fontFamily, size: 11, color: color("--ink-3") });

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
  const ends = series
    .map((side) => ({ side, points: side.points.filter((point) => point[key] !== null) }))
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

/** Tint from the lowest running limit on: there the queue is measured too. */
function capped(series) {
  const limits = series.map((side) => side.limit).filter((limit) => limit !== null);
  const most = Math.max(...series.flatMap((side) => side.points.map((point) => point.c)));
  if (!limits.length || Math.min(...limits) >= most) return { shapes: [], note: [] };
  const from = Math.log2(Math.min(...limits));
  const words = [...new Set(limits)].sort((a, b) => b - a).join(", ");
  return {
    shapes: [{ type: "rect", xref: "x", yref: "paper", x0: from, x1: Math.log2(most) + 0.35, y0: 0, y1: 1, fillcolor: color("--warn-tint"), line: { width: 0 }, layer: "below" }],
    note: [{ x: 1, xref: "paper", xanchor: "right", yref: "paper", y: 0.01, yanchor: "bottom", text: `capped: ${words} `, showarrow: false, font: { ...font(), color: color("--warn") } }],
  };
}

const only = (side, key) => side.points.filter((point) => point[key] !== null);

function sweep(series, key, words, from) {
  const traces = series.map((side) => ({
    ...line(side),
    x: only(side, key).map((point) => Math.log2(point.c)),
    y: only(side, key).map((point) => point[key]),
    customdata: only(side, key).map((point) => point.c),
    hovertemplate: `%{customdata}: %{y:,.4~g} ${words}<extra>${escaped(side.name)}</extra>`,
  }));
  const band = capped(series);
  const highest = Math.max(...traces.flatMap((trace) => trace.y));
  return {
    traces: key === "output" ? [...launches(series), ...traces] : traces,
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
      x: repeated.flatMap((point) => point.launches.map(() => Math.log2(point.c))),
      y: repeated.flatMap((point) => point.launches),
      marker: { symbol: "line-ew-open", size: 9, color: armColor(side.letter), line: { width: 1.25 } },
    };
  });
}

/** The middle of the longest stretch between two points: there is room for a name. */
function amid(points) {
  if (points.length < 2) return { x: points[0].user, y: points[0].output };
  const most = { x: Math.max(...points.map((p) => p.user)), y: Math.max(...points.map((p) => p.output)) };
  const long = (a, b) => Math.hypot((a.user - b.user) / most.x, (a.output - b.output) / most.y);
  const ends = points.slice(1).map((point, i) => [points[i], point]);
  const [a, b] = ends.reduce((best, pair) => (long(...pair) > long(...best) ? pair : best));
  return { x: (a.user + b.user) / 2, y: (a.output + b.output) / 2 };
}

function pareto(series) {
  const both = (side) => side.points.filter((point) => point.user !== null && point.output !== null);
  const middle = (side) => both(side).reduce((sum, point) => sum + point.user, 0) / both(side).length;
  const named = series.filter((side) => both(side).length);
  // words stand on the outer side of the leftmost line, and right of the others
  const leftmost = named.reduce((best, side) => (best && middle(best) <= middle(side) ? best : side), null);
  const traces = series.map((side) => ({
    ...line(side),
    mode: "lines+markers+text",
    x: both(side).map((point) => point.user),
    y: both(side).map((point) => point.output),
    text: both(side).map((point) => ` ${point.c} `),
    cliponaxis: false,
    textposition: side === leftmost ? "middle left" : "middle right",
    textfont: font(),
    hovertemplate: `%{text} clients: %{y:,.0f} tok/s, %{x:.0f} per user<extra>${escaped(side.name)}</extra>`,
  }));
  const upTo = (key) => [0, Math.max(1, ...traces.flatMap((trace) => trace[key])) * 1.14];
  return {
    traces,
    layout: {
      xaxis: axis({ title: { text: "tok/s per user", font: font(), standoff: 6 }, range: upTo("x"), nticks: 6 }),
      yaxis: axis({ range: upTo("y"), tickformat: ",~g", nticks: 6 }),
      annotations: named.map((side) => {
        const { x, y } = amid(both(side));
        // a single point has its number at its side, so its name goes above
        if (both(side).length < 2) return { ...label(side, x, y, 15), xanchor: "right" };
        return side === leftmost
          ? { ...label(side, x, y, 0), xanchor: "right", xshift: -10 }
          : { ...label(side, x, y, 0), xanchor: "left", xshift: 10 };
      }),
    },
  };
}

const FIGURES = {
  output: (series) => sweep(series, "output", "tok/s", 0),
  pareto,
  accept: (series) => sweep(series, "accept", "accept len", 1),
};

const MISSING = {
  output: "No aggregate tok/s was measured.",
  pareto: "Needs aggregate tok/s and tok/s per user of the same level.",
  accept: "No accept len was read: it comes from the server's log.",
};

function draw(box, series) {
  const { traces, layout } = FIGURES[box.dataset.plot](series);
  if (!traces.some((trace) => trace.y?.length)) {
    box.textContent = MISSING[box.dataset.plot];
    box.className = "empty small";
    return;
  }
  const common = {
    margin: { l: 46, r: 8, t: 8, b: 40 },
    paper_bgcolor: "transparent",
    plot_bgcolor: "transparent",
    showlegend: false,
    hovermode: "closest",
    hoverlabel: { bgcolor: color("--surface"), bordercolor: color("--rule"), font: { ...font(), color: color("--ink") } },
    font: font(),
  };
  window.Plotly.react(box, traces, { ...common, ...layout }, { displayModeBar: false, responsive: true });
}

export function plots(section, series) {
  const boxes = [...section.querySelectorAll("[data-plot]")];
  const all = () => boxes.filter((box) => box.classList.contains("plot")).forEach((box) => draw(box, series));
  let asked = false;
  const load = () => {
    if (asked) return;
    asked = true;
    const script = document.createElement("script");
    script.src = section.dataset.plotly;
    script.onload = () => {
      all();
      onTheme(all);
    };
    script.onerror = () => boxes.forEach((box) => (box.textContent = "The chart library did not load; the tables hold the numbers."));
    document.head.append(script);
  };
  const near = new IntersectionObserver(
    (seen) => {
      if (!seen.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      load();
    },
    { rootMargin: "600px" },
  );
  near.observe(section);
  setTimeout(load, SOON); // whoever reads on finds them drawn
}
