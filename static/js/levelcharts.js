// Two charts of one level, read when they are looked at: decode lines aligned, TTFT by request.
import { clock, group, show } from "./chartspecs.js";
import { DASHES, ecdf } from "./figures.js";
import { armColor, color, onTheme } from "./palette.js";
import { drawFigure, library, whenNear } from "./plots.js";
import { settle } from "./viewstate.js";

const HEIGHT = 220; // px; the legend stands under it and grows with the arms

const cell = (name, text, className = "") => {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
};

/** Rows of a table twin; the first cell names the arm. */
function fill(body, rows) {
  body.replaceChildren(
    ...rows.map(([arm, ...values]) => {
      const row = document.createElement("tr");
      const head = cell("th", arm.name, `st arm-${arm.letter.toLowerCase()}`);
      head.scope = "row";
      row.append(head, ...values.map((value) => cell("td", value)));
      return row;
    }),
  );
}

const at = (sorted, share) => (sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : null);
const ascending = (values) => [...values].sort((a, b) => a - b);
const ms = (seconds) => (seconds >= 1 ? `${seconds.toFixed(2)} s` : `${(seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0)} ms`);

/** Several series of their own times on one axis: undefined where another one has a point. */
function together(arms) {
  const xs = ascending(new Set(arms.flatMap((arm) => arm.x)));
  const place = new Map(xs.map((x, i) => [x, i]));
  return [
    xs,
    ...arms.map((arm) => {
      const column = new Array(xs.length).fill(undefined);
      arm.x.forEach((x, i) => (column[place.get(x)] = arm.y[i]));
      return column;
    }),
  ];
}

/** Before the window they are below zero. */
const seconds = (value) => (value < 0 ? `\u2212${clock(-value)}` : clock(value));

const dash = (letter) => (DASHES[letter] === "solid" ? [] : DASHES[letter].split(",").map((part) => parseInt(part, 10)));

/** The part in which the window of every arm lies. */
function shade(chart, arms) {
  const known = arms.map((arm) => arm.steady).filter((end) => end !== null);
  if (!known.length) return;
  const [from, to] = [0, Math.min(...known)];
  const { ctx, bbox } = chart;
  const [left, right] = [chart.valToPos(from, "x", true), chart.valToPos(to, "x", true)];
  ctx.save();
  ctx.fillStyle = color("--accent-tint");
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.restore();
}

function drawLines(box, arms) {
  const axis = {
    stroke: () => color("--ink-3"),
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
    grid: { stroke: () => color("--hair"), width: 1 },
    ticks: { show: false },
  };
  const first = Math.min(0, ...arms.map((arm) => arm.x[0]));
  const last = Math.max(1, ...arms.flatMap((arm) => [arm.ends ?? 0, arm.x.at(-1)]));
  const chart = new window.uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      legend: { show: true, live: true },
      cursor: { y: false, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (u, low, high) => (u.zoomed ? [low, high] : [first, last]) }, y: { range: (u, low, high) => [0, (high || 1) * 1.1] } },
      axes: [
        { ...axis, values: (u, values) => values.map(seconds), grid: { show: false }, size: 26 },
        { ...axis, values: (u, values) => values.map(group), size: 46 },
      ],
      series: [
        { label: "time", value: (u, v) => (v === null ? "" : seconds(v)) },
        ...arms.map((arm) => ({
          label: `${arm.name}, run ${arm.run}`,
          stroke: () => armColor(arm.letter),
          width: 1.5,
          dash: dash(arm.letter),
          spanGaps: true,
          points: { show: arm.x.length <= 40, size: 4 },
          value: (u, v) => show(v, group),
        })),
      ],
      hooks: { drawClear: [(u) => shade(u, arms)], setSelect: [(u) => (u.zoomed = u.select.width > 0)] },
    },
    together(arms),
    box,
  );
  chart.over.addEventListener("dblclick", () => (chart.zoomed = false));
  const size = () => chart.setSize({ width: box.clientWidth, height: box.closest(".is-zoomed") ? 2 * HEIGHT : HEIGHT });
  const watch = new ResizeObserver(size);
  watch.observe(box);
  return { redraw: () => chart.redraw(false), destroy: () => (watch.disconnect(), chart.destroy()) };
}

async function read(figure, level) {
  const answer = await fetch(`${figure.dataset.source}&level=${level}`);
  if (!answer.ok) throw new Error(`answer ${answer.status}`);
  return (await answer.json()).arms;
}

/** Words in place of a drawing, which another level may have again. */
function say(box, words) {
  box.classList.toggle("says", words !== "");
  box.textContent = words;
}

export function levelCharts(section) {
  const lines = section.querySelector("[data-figure=series]");
  const ttft = section.querySelector("[data-figure=ttft]");
  if (!lines || !ttft) return;
  const choices = [...section.querySelectorAll("[data-level-choice]")];
  if (!choices[0].options.length) {
    for (const box of section.querySelectorAll("[data-lines], [data-ttft]")) say(box, "No level has been measured yet.");
    return;
  }
  let drawn = null;
  let requests = null;

  async function showLines(level) {
    const box = lines.querySelector("[data-lines]");
    const arms = (await read(lines, level)).filter((arm) => arm.x.length);
    drawn?.destroy();
    drawn = null;
    say(box, arms.length ? "" : "Needs the server's log with times: none was read at this level.");
    const rows = arms.map((arm) => [arm, ascending(arm.y)]);
    fill(lines.querySelector("[data-lines-table]"), rows.map(([arm, y]) => [arm, group(arm.x.length), group(y[0]), group(at(y, 0.5)), group(y.at(-1))]));
    if (!arms.length) return;
    await library(section.dataset.uplot);
    drawn = drawLines(box, arms);
  }

  async function showTtft(level) {
    const box = ttft.querySelector("[data-ttft]");
    requests = await read(ttft, level);
    if (window.Plotly && box.classList.contains("js-plotly-plot")) window.Plotly.purge(box);
    say(box, requests.length ? "" : "Needs per-request results: no driver stored them at this level.");
    fill(
      ttft.querySelector("[data-ttft-table]"),
      requests.map((arm) => {
        const all = ascending(arm.launches.flatMap((launch) => launch.ttft));
        const count = arm.launches.reduce((sum, launch) => sum + launch.requests, 0);
        // a percentile needs ten requests beyond it, and p99 says nothing below five hundred
        return [arm, group(count), ms(at(all, 0.5)), count >= 100 ? ms(at(all, 0.9)) : "too few", count >= 500 ? ms(at(all, 0.99)) : "too few"];
      }),
    );
    if (!requests.length) return;
    await library(section.dataset.plotly);
    drawFigure(box, ecdf(requests));
  }

  const both = (level) =>
    Promise.all([
      showLines(level).catch(() => say(lines.querySelector("[data-lines]"), "The lines could not be read; reload to try again.")),
      showTtft(level).catch(() => say(ttft.querySelector("[data-ttft]"), "The requests could not be read; reload to try again.")),
    ]);

  for (const choice of choices) {
    choice.addEventListener("change", () => {
      for (const other of choices) other.value = choice.value;
      settle("level", choice.value);
      both(choice.value);
    });
  }
  onTheme(() => {
    drawn?.redraw();
    if (requests?.length) drawFigure(ttft.querySelector("[data-ttft]"), ecdf(requests));
  });
  whenNear(section, () => both(choices[0].value));
}
