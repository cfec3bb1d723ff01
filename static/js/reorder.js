// Arms in the bar are dragged by their marks into another order; the first one is the baseline.
// Without a mouse "as baseline" and swap say the same.

import { addressWith } from "./viewstate.js";

const MOVED = "text/x-arm";

/** The arms of the address with one moved to the place of another. */
function moved(arms, from, to) {
  const order = arms.filter((_, place) => place !== from);
  order.splice(to, 0, arms[from]);
  return order;
}

export function reorder(bar) {
  const heads = [...bar.querySelectorAll(".arm")];
  const arms = bar.dataset.arms.split("~");
  heads.forEach((head, place) => {
    const handle = head.querySelector(".handle"); // not all of it: its words are there to be selected
    handle.draggable = true;
    handle.title = "Drag it to another place";
    handle.addEventListener("dragstart", (event) => {
      event.dataTransfer.setDragImage(head, 0, 0);
      event.dataTransfer.setData(MOVED, String(place));
      event.dataTransfer.effectAllowed = "move";
    });
    head.addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes(MOVED)) return;
      event.preventDefault();
      head.classList.add("is-target");
    });
    head.addEventListener("dragleave", () => head.classList.remove("is-target"));
    head.addEventListener("drop", (event) => {
      event.preventDefault();
      head.classList.remove("is-target");
      const from = Number(event.dataTransfer.getData(MOVED));
      if (from === place) return;
      const order = moved(arms, from, place).join("~");
      location.assign(addressWith({ arms: order, arm: "" })); // letters go by place
    });
  });
}
