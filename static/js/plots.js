// The charts of a comparison, drawn by Plotly when they come into view.
import { shareCursor } from "./cursor.js";
import { FEW, FIGURES, MISSING, font } from "./figures.js";
import { color, onTheme } from "./palette.js";

const SOON = 1500; // ms: the sentence and the tables come first

/** One figure in its box; the table below it holds the numbers, too. */
export function drawFigure(box, { traces, layout }) {
  const common = {
    margin: { l: 46, r: 8, t: 8, b: 40 },
    paper_bgcolor: "transparent",
    plot_bgcolor: "transparent",
    showlegend: traces.filter((trace) => trace.name && trace.showlegend !== false).length > FEW,
    legend: { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", font: font(), itemsizing: "constant" },
    hovermode: "closest",
    hoverlabel: { bgcolor: color("--surface"), bordercolor: color("--rule"), font: { ...font(), color: color("--ink") } },
    font: font(),
  };
  window.Plotly.react(box, traces, { ...common, ...layout }, { displayModeBar: false, responsive: true });
}

export function empty(box, words) {
  box.textContent = words;
  box.className = "empty small";
}

function draw(box, data) {
  const figure = FIGURES[box.dataset.plot](data.series, data);
  if (!figure.traces.some((trace) => trace.y?.length)) empty(box, MISSING[box.dataset.plot]);
  else drawFigure(box, figure);
}

const loading = new Map();

/** A library of static/vendor, once. */
export function library(address) {
  if (!loading.has(address)) {
    loading.set(
      address,
      new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = address;
        script.onload = resolve;
        script.onerror = reject;
        document.head.append(script);
      }),
    );
  }
  return loading.get(address);
}

/** Calls once, when `section` is near or the page has stood for a while. */
export function whenNear(section, callback) {
  let called = false;
  const once = () => {
    if (called) return;
    called = true;
    near.disconnect();
    callback();
  };
  const near = new IntersectionObserver((seen) => seen.some((entry) => entry.isIntersecting) && once(), {
    rootMargin: "600px",
  });
  near.observe(section);
  setTimeout(once, SOON); // whoever reads on finds them drawn
}

const told = (id) => {
  const script = document.getElementById(id);
  return script ? JSON.parse(script.textContent) : null;
};

export function plots(section) {
  const data = { series: told("compare-series"), changes: told("compare-changes"), front: told("compare-front") };
  const boxes = [...section.querySelectorAll("[data-plot]")];
  const all = () => boxes.filter((box) => box.classList.contains("plot")).forEach((box) => draw(box, data));
  whenNear(section, () =>
    library(section.dataset.plotly).then(
      () => {
        all();
        shareCursor(boxes);
        onTheme(all);
      },
      () => boxes.forEach((box) => (box.textContent = "The chart library did not load; the tables hold the numbers.")),
    ),
  );
}
