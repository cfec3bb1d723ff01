// Colours of the page for drawings, which know no style sheet.

let known = {};

/** The value of a custom property, such as "--arm-b". */
export function color(name) {
  return (known[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim());
}

export const armColor = (letter) => color(`--arm-${letter.toLowerCase()}`);

/** Calls back when light turns to dark or dark to light. */
export function onTheme(callback) {
  const changed = () => {
    known = {};
    callback();
  };
  document.addEventListener("throughline:theme", changed);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
