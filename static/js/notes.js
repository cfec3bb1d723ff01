// "c" or a link to the notes opens a new note; Escape leaves a note that holds nothing.
"use strict";
(() => {
  const typing = (target) =>
    target.closest("input, textarea, select, [contenteditable]") !== null;

  // switched off on the comparison page: single keys may get in the way of speech input
  const off = () => {
    try {
      return localStorage.getItem("throughline.keys") === "off";
    } catch {
      return false;
    }
  };

  // where the pointer is: a line of the log, else the place of the charts' cursor
  const spot = () => {
    const line = document.querySelector("li[data-offset]:hover");
    if (line) return `byte ${line.dataset.offset}`;
    return document.querySelector("[data-at-seconds]")?.dataset.atSeconds ?? "";
  };

  const write = (box) => {
    const where = box.querySelector("[data-spot]");
    if (where && !where.value) where.value = spot();
    box.open = true;
    box.querySelector("textarea").focus();
  };

  document.addEventListener("click", (event) => {
    const box = document.querySelector(".note-add");
    if (!box || !event.target.closest?.('a[href="#notes"]')) return;
    event.preventDefault();
    write(box);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = document.querySelector(".note-add");
    if (!box) return;
    if (event.key === "c" && !typing(event.target) && !off()) {
      event.preventDefault();
      write(box);
    }
    if (event.key === "Escape" && box.contains(event.target) && !box.querySelector("textarea").value) {
      box.open = false;
      box.querySelector("summary").focus();
    }
  });
})();
