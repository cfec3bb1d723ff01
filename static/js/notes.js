// "c" or a link to the notes opens a new note; Escape leaves a note that holds nothing.
"use strict";
(() => {
  const typing = (target) =>
    target.closest("input, textarea, select, [contenteditable]") !== null;

  const write = (box) => {
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
    if (event.key === "c" && !typing(event.target)) {
      event.preventDefault();
      write(box);
    }
    if (event.key === "Escape" && box.contains(event.target) && !box.querySelector("textarea").value) {
      box.open = false;
      box.querySelector("summary").focus();
    }
  });
})();
