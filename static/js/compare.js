// The comparison page: charts when they are near, keys, the share dialog.
import { plots } from "./plots.js";

const charts = document.getElementById("charts");
plots(charts, JSON.parse(document.getElementById("compare-series").textContent));

const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (link) link.click();
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
