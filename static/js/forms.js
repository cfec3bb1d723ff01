// A reason stands at its field until somebody types there again.
"use strict";
document.addEventListener("input", (event) => {
  const field = event.target.closest?.(".field");
  if (!field || event.target.getAttribute("aria-invalid") !== "true") return;
  event.target.removeAttribute("aria-invalid");
  field.querySelector(".errorlist")?.remove();
});
