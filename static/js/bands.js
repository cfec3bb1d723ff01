// The levels of a run: lines under its series, and their row above the charts.
import { color } from "./palette.js";

/** Tint of the running level and a line at each level's start, under the series. */
export function drawBands(charts, u) {
  const { ctx, bbox } = u;
  if (!charts.timed) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const level of charts.marks.levels) {
    if (level.start === null) continue;
    const from = u.valToPos(level.start - charts.zero, "x", true);
    if (level.state === "running") {
      const last = charts.own[charts.own.length - 1].x;
      const to = u.valToPos(Math.max(last, level.start - charts.zero), "x", true);
      ctx.globalAlpha = 0.06;
      ctx.fillStyle = color("--accent");
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
      ctx.globalAlpha = 1;
    }
    ctx.fillStyle = color("--hair");
    ctx.fillRect(Math.round(from), bbox.top, Math.max(1, devicePixelRatio), bbox.height);
  }
  ctx.restore();
}

/** The row of levels above the charts. */
export function bandRow(charts) {
  const row = charts.root.querySelector("[data-bands]");
  const u = charts.charts[0];
  if (!row || !u) return;
  row.replaceChildren();
  if (!charts.timed) return;
  const width = u.over.clientWidth;
  const begun = charts.marks.levels.filter((level) => level.start !== null);
  begun.forEach((level, i) => {
    const left = u.valToPos(level.start - charts.zero, "x");
    const next = begun[i + 1];
    const right = next ? u.valToPos(next.start - charts.zero, "x") : width;
    if (right <= 0 || left >= width) return;
    const running = level.state === "running";
    const words = `${i === 0 ? "level " : ""}${level.c}${running ? ", now" : ""}`;
    row.append(band(Math.max(left, 0), Math.min(right, width), words, running ? "now" : ""));
  });
  const coming = charts.marks.levels.find((level) => level.start === null);
  if (coming && begun.length && !charts.marks.final) {
    row.append(band(width - 58, width + 8, `${coming.c} next`, "next"));
  }
}

function band(left, right, words, kind) {
  const span = document.createElement("span");
  span.className = kind;
  const fits = (text) => right - left > 6.4 * text.length + 6;
  span.textContent = [words, words.replace("level ", "")].find(fits) ?? "";
  span.style.left = `${left}px`;
  span.style.width = `${Math.max(right - left - 2, 0)}px`;
  return span;
}
