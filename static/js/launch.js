// The preview comes by itself where scripts run, and leaving does not lose what was typed.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const form = document.querySelector("form[data-keep]");
  if (!form) return;
  let changed = false;
  form.addEventListener("input", () => { changed = true; });
  form.addEventListener("submit", () => { changed = false; });
  window.addEventListener("beforeunload", (event) => {
    if (changed) event.preventDefault();
  });
})();
