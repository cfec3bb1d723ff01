// "c" opens the note beside the page; Escape leaves a note that holds nothing.
"use strict";
(() => {
  const typing = (target) =>
    target.closest("input, textarea, select, [contenteditable]") !== null;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = document.querySelector(".note-add");
    if (!box) return;
    if (event.key === "c" && !typing(event.target)) {
      event.preventDefault();
      box.open = true;
      box.querySelector("textarea").focus();
    }
    if (event.key === "Escape" && box.contains(event.target) && !box.querySelector("textarea").value) {
      box.open = false;
      box.querySelector("summary").focus();
    }
  });
})();
