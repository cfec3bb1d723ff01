// Parts of the page that the server renders anew, and clocks that tick between two of them.
import { clock } from "./chartspecs.js";

const shown = new Map();

/** Puts rendered parts into their places; equal ones are left alone, so that nothing loses focus. */
export function setParts(parts) {
  for (const [name, html] of Object.entries(parts)) {
    if (shown.get(name) === html) continue;
    shown.set(name, html);
    const box = document.querySelector(`[data-part="${name}"]`);
    if (!box) continue;
    const open = box.querySelector("details[open]") !== null;
    box.innerHTML = html;
    if (open) box.querySelector("details")?.setAttribute("open", "");
  }
}

/** The same by loading the page again: for when there is no stream. */
export async function reloadParts() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) throw new Error(`page: ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const parts = {};
  for (const box of page.querySelectorAll("[data-part]")) parts[box.dataset.part] = box.innerHTML;
  setParts(parts);
  return page;
}

/** Ticks every [data-since] (epoch seconds of the server) by the server's clock. */
export function tick(serverNow) {
  const ahead = serverNow - Date.now() / 1000;
  setInterval(() => {
    const now = Date.now() / 1000 + ahead;
    for (const box of document.querySelectorAll("[data-since]")) {
      box.textContent = clock(now - Number(box.dataset.since));
    }
  }, 1000);
}
