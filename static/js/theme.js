// Light or dark as chosen here, else as the system says. Runs before anything is drawn.
"use strict";
(() => {
  const root = document.documentElement;
  const chosen = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage may be forbidden; the system's choice holds
    }
  };
  const now = () =>
    root.dataset.bsTheme ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

  const first = chosen();
  if (first === "light" || first === "dark") root.dataset.bsTheme = first;

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.dataset.ready = "";
      button.addEventListener("click", () => {
        root.dataset.bsTheme = now() === "dark" ? "light" : "dark";
        try {
          localStorage.setItem("theme", root.dataset.bsTheme);
        } catch {
          // it holds until the page is left
        }
        // charts draw on canvas and have to be told
        document.dispatchEvent(new CustomEvent("throughline:theme", { detail: root.dataset.bsTheme }));
      });
    }
  });
})();
