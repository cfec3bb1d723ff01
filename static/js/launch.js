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

  // A driver takes only some kinds of prompts: the others cannot be chosen.
  const driver = document.getElementById("id_driver");
  const prompts = document.getElementById("id_prompt_set");
  const sets = JSON.parse(document.getElementById("prompt-sets").textContent);
  const fit = () => {
    const known = sets[driver.value];
    for (const option of prompts.options) {
      option.disabled = option.hidden = !known.includes(option.value);
    }
    if (!known.includes(prompts.value)) prompts.value = known[0];
  };
  driver.addEventListener("change", fit);
  fit();

  // A chosen file is read here, so that it is seen, checked and kept like typed prompts.
  for (const input of form.querySelectorAll("input[type=file][data-into]")) {
    input.addEventListener("change", async () => {
      const [file] = input.files;
      if (!file || file.size > 4 * 1024 * 1024) return;  // the server says why
      const text = document.getElementById(input.dataset.into);
      text.value = await file.text();
      input.value = "";
      text.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
})();
