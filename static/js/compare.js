// The comparison page: charts when they are near, keys, the share dialog, one figure enlarged.
import { keys } from "./comparekeys.js";
import { levelCharts } from "./levelcharts.js";
import { plots } from "./plots.js";
import { reorder } from "./reorder.js";
import { settle } from "./viewstate.js";

const charts = document.getElementById("charts");
plots(charts);
levelCharts(charts);
keys();
reorder(document.querySelector(".arms"));

charts.addEventListener("click", (event) => {
  const link = event.target.closest("[data-zoom]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const figure = link.closest("figure");
  const large = !figure.classList.contains("is-zoomed");
  for (const other of charts.querySelectorAll("figure")) other.classList.toggle("is-zoomed", other === figure && large);
  settle("zoom", large ? link.dataset.zoom : "");
  figure.scrollIntoView({ block: "nearest" });
  for (const plot of charts.querySelectorAll(".js-plotly-plot")) window.Plotly.Plots.resize(plot);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C"; // it is selected
  }
});

// An empty filter is none: it stands in no address.
document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.parameters.filter === "") delete event.detail.parameters.filter;
});

// A level's row is swapped with its table; whoever opened it goes on from there.
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id !== "levels") return;
  const open = event.target.querySelector(".opens[aria-expanded=true]");
  open?.closest("tr").scrollIntoView({ block: "nearest" });
});

// The share section becomes a dialog: the same box, nearer.
const section = document.getElementById("share");
const opener = document.querySelector("[data-open]");
if (section && opener && window.HTMLDialogElement) {
  const dialog = document.createElement("dialog");
  dialog.className = "share-dialog";
  dialog.setAttribute("aria-label", "Share this comparison");
  const head = document.createElement("div");
  head.className = "dialog-head";
  const title = document.createElement("b");
  title.textContent = "Share this comparison";
  const close = document.createElement("button");
  close.type = "button";
  close.className = "btn btn-sm btn-ghost";
  close.textContent = "Close";
  head.append(title, close);
  const box = document.getElementById("share-box");
  const fresh = box.querySelector("[data-copy-from]") !== null;
  dialog.append(head, box);
  section.remove();
  document.body.append(dialog);
  window.htmx?.process(dialog);
  close.addEventListener("click", () => dialog.close());
  opener.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.showModal();
  });
  if (fresh || location.hash === "#share") dialog.showModal();
}
