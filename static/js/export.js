// Menus of files: they close on Escape, by a choice and by a click elsewhere; text is copied at a click.

for (const item of document.querySelectorAll("[data-with-script]")) item.hidden = false;

const open = () => document.querySelectorAll("details.menu[open]");

document.addEventListener("click", (event) => {
  for (const menu of open()) if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false;
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of open()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

async function text(address) {
  const answer = await fetch(address, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.text();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-text]");
  if (!button) return;
  const words = (button.dataset.words ??= button.textContent);
  try {
    await navigator.clipboard.writeText(await text(button.dataset.copyText));
    button.textContent = "Copied";
  } catch {
    button.textContent = "It could not be copied: download it instead";
  }
  setTimeout(() => (button.textContent = words), 3000);
});
