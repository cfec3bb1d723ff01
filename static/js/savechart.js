// "Save as PNG / SVG" under every chart: what is drawn, with title, arms and where it comes from.
import { color } from "./palette.js";

const WIDTH = 1000; // px of a saved chart; a PNG has twice as many
const HEIGHT = 560;
const SCALE = 2;
const PAD = 24;
const HEAD = 62; // title and arms
const FOOT = 34; // the source
const INLINED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
const SVG = "http://www.w3.org/2000/svg";

/** Plotly reads a little markup in its texts: names are only ever text. */
const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const family = () => getComputedStyle(document.body).fontFamily;

/** "Gain ledger at concurrency 16, steps=1": a drawing says itself what it is of. */
function ledger(figure) {
  const said = drawing(figure)?.getAttribute("aria-label")?.split(":")[0];
  const beside = figure.closest("section")?.querySelector("h2 small")?.textContent ?? "";
  const arm = beside.match(/^(.+), gain ledger/)?.[1];
  return said && arm ? `${said}, ${arm}` : said;
}

/** Words of a figure: its caption's first line, the arms of the page, and the source. */
function words(figure) {
  const caption = figure.querySelector("figcaption");
  const title = figure.dataset.title ?? ledger(figure) ?? caption?.firstChild?.textContent.trim() ?? document.title;
  const page = document.querySelector("[data-chart-arms]")?.dataset ?? {};
  return { title: short(title, 90), arms: short(page.chartArms ?? "", 130), source: short(page.chartSource ?? "", 150) };
}

const plotly = (figure) => figure.querySelector(".js-plotly-plot");
const drawing = (figure) => figure.querySelector("svg[viewBox][role=img]");
const canvases = (figure) => [...figure.querySelectorAll(".uplot canvas")].filter((canvas) => canvas.offsetParent);

function ofPlotly(box, { title, arms, source }, format) {
  const margin = { l: 64, r: 28, t: HEAD + PAD, b: 64 + FOOT };
  const small = { family: family(), size: 12, color: color("--ink-2") };
  const below = { text: escaped(source), xref: "paper", yref: "paper", x: 0, y: 0, xanchor: "left", yanchor: "top", yshift: -(margin.b - FOOT), showarrow: false, font: { ...small, color: color("--ink-3") } };
  const layout = {
    ...box.layout,
    autosize: false,
    width: WIDTH,
    height: HEIGHT,
    margin,
    paper_bgcolor: color("--surface"),
    plot_bgcolor: color("--surface"),
    title: { text: `<b>${escaped(title)}</b><br><span style="font-size:12px">${escaped(arms)}</span>`, x: 0, xref: "paper", xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: PAD }, font: { family: family(), size: 18, color: color("--ink") } },
    annotations: [...(box.layout.annotations ?? []), below],
  };
  const size = { format, width: WIDTH, height: HEIGHT, scale: format === "png" ? SCALE : 1 };
  return window.Plotly.toImage({ data: box.data, layout, config: { staticPlot: true } }, size);
}

function text(x, y, size, weight, ink, said) {
  const node = document.createElementNS(SVG, "text");
  for (const [name, value] of Object.entries({ x, y, "font-size": size, "font-weight": weight, "font-family": family(), fill: color(ink) })) node.setAttribute(name, value);
  node.textContent = said;
  return node;
}

/** A file of its own: styles of the page stand in it, and a ground, title, arms and source. */
function standalone(svg, { title, arms, source }) {
  const copy = svg.cloneNode(true);
  const sources = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(sources[i]);
    for (const name of INLINED) node.setAttribute(name, style.getPropertyValue(name));
    node.removeAttribute("class");
  });
  const { width, height } = svg.viewBox.baseVal;
  const [wide, high] = [WIDTH, HEAD + ((WIDTH - 2 * PAD) * height) / width + FOOT + PAD];
  for (const [name, value] of Object.entries({ x: PAD, y: HEAD + PAD / 2, width: wide - 2 * PAD, height: high - HEAD - FOOT - PAD })) copy.setAttribute(name, value);
  const whole = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ xmlns: SVG, width: wide, height: high, viewBox: `0 0 ${wide} ${high}` })) whole.setAttribute(name, value);
  const ground = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ width: wide, height: high, fill: color("--surface") })) ground.setAttribute(name, value);
  whole.append(ground, text(PAD, 34, 18, 700, "--ink", title), text(PAD, 54, 12, 400, "--ink-2", arms), copy, text(PAD, high - 16, 12, 400, "--ink-3", source));
  return { markup: new XMLSerializer().serializeToString(whole), width: wide, height: high };
}

const address = (markup) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(markup)}`;

async function painted({ markup, width, height }) {
  const image = new Image();
  image.src = address(markup);
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SCALE, height * SCALE];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

/** Canvases one below the other, each with its label, in the pixels of the screen. */
function stacked(figure, drawn, { title, arms, source }) {
  const ratio = devicePixelRatio || 1;
  const label = (canvas) => canvas.closest("[data-chart]")?.previousElementSibling?.innerText.replace(/\s+/g, " ") ?? "";
  const gap = (canvas) => (label(canvas) ? 20 : 0) * ratio;
  const whole = document.createElement("canvas");
  whole.width = Math.max(...drawn.map((canvas) => canvas.width)) + 2 * PAD * ratio;
  whole.height = drawn.reduce((sum, canvas) => sum + canvas.height + gap(canvas), 0) + (HEAD + FOOT + PAD) * ratio;
  const ctx = whole.getContext("2d");
  const say = (x, y, size, weight, ink, said) => {
    ctx.font = `${weight} ${size * ratio}px ${family()}`;
    ctx.fillStyle = color(ink);
    ctx.fillText(said, x, y, whole.width - 2 * PAD * ratio);
  };
  ctx.fillStyle = color("--surface");
  ctx.fillRect(0, 0, whole.width, whole.height);
  say(PAD * ratio, 34 * ratio, 18, 700, "--ink", title);
  say(PAD * ratio, 54 * ratio, 12, 400, "--ink-2", arms);
  let y = (HEAD + PAD / 2) * ratio;
  for (const canvas of drawn) {
    if (gap(canvas)) say(PAD * ratio, y + 12 * ratio, 12, 600, "--ink-2", label(canvas));
    ctx.drawImage(canvas, PAD * ratio, y + gap(canvas));
    y += canvas.height + gap(canvas);
  }
  say(PAD * ratio, whole.height - 14 * ratio, 12, 400, "--ink-3", source);
  return whole.toDataURL("image/png");
}

async function image(figure, format) {
  const said = words(figure);
  if (plotly(figure)) return ofPlotly(plotly(figure), said, format);
  if (drawing(figure)) {
    const file = standalone(drawing(figure), said);
    return format === "svg" ? address(file.markup) : painted(file);
  }
  return stacked(figure, canvases(figure), said);
}

function download(href, name) {
  const link = document.createElement("a");
  [link.href, link.download] = [href, name];
  link.click();
}

const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart";

function menu(figure) {
  const box = document.createElement("details");
  box.className = "menu save";
  const summary = document.createElement("summary");
  summary.textContent = "Save";
  summary.setAttribute("aria-label", `Save ${words(figure).title} as a picture`);
  const list = document.createElement("ul");
  for (const format of ["png", "svg"]) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.saveAs = format;
    button.textContent = `As ${format.toUpperCase()}`;
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
  box.append(summary, list);
  box.addEventListener("toggle", () => {
    const vector = plotly(figure) || drawing(figure);
    const any = vector || canvases(figure).length;
    list.querySelector("[data-save-as=png]").parentElement.hidden = !any;
    list.querySelector("[data-save-as=svg]").parentElement.hidden = !vector;
    if (!any && !list.querySelector("[role=status]")) {
      const item = document.createElement("li");
      item.setAttribute("role", "status");
      item.textContent = "Nothing is drawn here yet.";
      list.append(item);
    } else if (any) list.querySelector("[role=status]")?.remove();
  });
  return box;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-save-as]");
  if (!button) return;
  const figure = button.closest("figure, [data-saves]");
  const format = button.dataset.saveAs;
  try {
    download(await image(figure, format), `${slug(words(figure).title)}.${format}`);
    button.closest("details").open = false;
  } catch (error) {
    button.textContent = "It could not be saved";
    console.warn("chart not saved", error);
  }
});

export function saving(root = document) {
  for (const figure of root.querySelectorAll("figure, [data-saves]")) {
    if (figure.querySelector(":scope .menu.save")) continue;
    (figure.querySelector("figcaption, .chart-foot") ?? figure).append(menu(figure));
  }
}

saving();
// a table that is swapped may bring figures of its own
document.addEventListener("htmx:afterSettle", () => saving());
