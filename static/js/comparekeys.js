// Keys of the comparison page. Off inside fields, with a modifier, and where somebody switched
// them off; "?" tells them.

const STORED = "throughline.keys";

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]") !== null;

function on() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true; // storage may be forbidden: they are on
  }
}

function remember(wanted) {
  try {
    if (wanted) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, "off");
  } catch {
    // it holds until the page is left
  }
}

const find = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];
const smooth = () => ({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });

/** The next or previous of some elements, seen from the one that has the focus. */
function step(elements, by) {
  if (!elements.length) return;
  const here = elements.findIndex((element) => element.contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : elements.length - 1) : Math.min(elements.length - 1, Math.max(0, here + by));
  elements[next].focus({ preventScroll: true });
  elements[next].scrollIntoView(smooth());
}

const press = (selector) => find(selector)?.click();

function arm(number) {
  if (number === "1") return find(".arms .arm a, .arms .arm")?.scrollIntoView(smooth());
  press(`[data-arm="${number}"]`);
}

/** The arm looked at, or the only one beside the baseline. */
function asBaseline() {
  const looked = find(".arm.looked-at [data-base]") ?? find("[data-base]");
  looked?.click();
}

/** The live page of a launch that runs, else the page of the latest one. */
function toRun() {
  const live = find("[data-live]");
  if (live) return live.click();
  const dots = find(".dots[data-run]");
  if (dots) location.assign(dots.dataset.run);
}

function close() {
  const open = find("dialog[open]") ?? null;
  if (open) return open.close();
  const menu = find("details.chip-menu[open]");
  if (menu) {
    menu.open = false;
    return menu.querySelector("summary").focus();
  }
  if (find(".opens[aria-expanded=true]")) press(".opens[aria-expanded=true]");
}

const ACTIONS = {
  j: () => step(all(".opens"), 1),
  k: () => step(all(".opens"), -1),
  n: () => step(all("[data-difference]"), 1),
  p: () => step(all("[data-difference]"), -1),
  b: asBaseline,
  m: () => (find(".metrics [aria-current]") ?? find(".metrics a"))?.focus(),
  g: toRun,
  e: () => press(".compare-head .btn-list details.menu > summary"),
  "/": () => find("#filter")?.focus(),
  "?": () => find("#keys")?.showModal(),
  Escape: close,
};

export function keys() {
  const dialog = find("#keys");
  const checkbox = find("#keys-on");
  const opener = find("[data-keys-help]");
  if (opener) {
    opener.hidden = false;
    opener.addEventListener("click", () => dialog.showModal());
  }
  const hint = () => all("[data-keys-hint]").forEach((box) => (box.hidden = !on()));
  hint();
  checkbox.checked = on();
  checkbox.addEventListener("change", () => {
    remember(checkbox.checked);
    hint();
  });
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const dialogs = find("dialog[open]");
    if (dialogs) return; // Escape closes it by itself
    if (!on() && event.key !== "?") return;
    if (/^[1-6]$/.test(event.key)) return arm(event.key);
    const action = ACTIONS[event.key];
    const marked = find(`[data-key="${CSS.escape(event.key)}"]`);
    if (!action && !marked) return;
    event.preventDefault();
    if (action) action();
    else marked.click();
  });
}
