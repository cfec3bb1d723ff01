// The levels' windows: shaded in every chart, and moved by two handles that fill the form beneath.
import { color } from "./palette.js";

const ROOM = 56; // px: in a narrower window two handles would lie on each other
const LEAST = 0.1; // s: the form tells tenths

/** Seconds as the form tells them; what is rounded to nothing has no sign. */
const tenths = (seconds) => (Math.round(seconds * 10) / 10 || 0).toFixed(1);

const formOf = (index) => document.querySelector(`[data-window="${index}"]`);

export class Windows {
  constructor(charts) {
    this.charts = charts;
    this.moved = new Map(); // by the level's index: where its handles stand while it is being moved
    for (const open of document.querySelectorAll("[data-window][open]")) this.take(open);
    document.addEventListener("input", (event) => this.take(event.target.closest("[data-window]")));
    // the handles of a short window, or of a whole level, are there while its form is open
    document.addEventListener("toggle", () => this.redraw(), true);
  }

  redraw() {
    for (const chart of this.charts.charts) chart.redraw(false);
  }

  /** What stands in a form's fields. */
  take(box) {
    const form = box?.querySelector("form");
    if (!form) return;
    const zero = Number(box.dataset.zero);
    const [start, end] = [form.start, form.end].map((field) => Number.parseFloat(field.value));
    if (!(end > start)) return;
    this.moved.set(Number(box.dataset.window), { start: zero + start, end: zero + end });
    this.redraw();
  }

  span(level) {
    return this.moved.get(level.index) ?? level.window;
  }

  levels() {
    return this.charts.timed ? this.charts.marks.levels.filter((level) => level.window) : [];
  }

  /** A shade over everything would tell nothing. */
  isShorter(level) {
    return level.window.source !== "whole run" || this.moved.has(level.index);
  }

  /** The shade of each window, under the series. */
  draw(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const level of this.levels()) {
      if (!this.isShorter(level)) continue;
      const span = this.span(level);
      const [from, to] = [span.start, span.end].map((t) => u.valToPos(t - this.charts.zero, "x", true));
      ctx.globalAlpha = 0.04;
      ctx.fillStyle = color("--ink");
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
      ctx.globalAlpha = 1;
      ctx.strokeStyle = color("--rule");
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash(level.window.source === "by hand" || this.moved.has(level.index) ? [4, 3] : []);
      for (const x of [from, to]) {
        ctx.beginPath();
        ctx.moveTo(Math.round(x) + 0.5, bbox.top);
        ctx.lineTo(Math.round(x) + 0.5, bbox.top + bbox.height);
        ctx.stroke();
      }
    }
    ctx.restore();
  }

  /** Two handles for each window on the first chart; those that are there keep the focus. */
  handles() {
    const u = this.charts.charts[0];
    const kept = new Set();
    for (const level of this.levels()) {
      const box = formOf(level.index);
      const span = this.span(level);
      const at = { start: this.place(u, span.start), end: this.place(u, span.end) };
      const room = (this.isShorter(level) && at.end - at.start >= ROOM) || box?.open;
      if (!box?.querySelector("form") || !room) continue;
      for (const side of ["start", "end"]) {
        const inside = at[side] >= -1 && at[side] <= u.over.clientWidth + 1;
        if (inside) kept.add(this.handle(u, level, side, box, at[side]));
      }
    }
    for (const old of u.over.querySelectorAll(".handle")) if (!kept.has(old)) old.remove();
  }

  place(u, t) {
    return u.valToPos(t - this.charts.zero, "x");
  }

  handle(u, level, side, box, left) {
    const name = `${level.index} ${side}`;
    const there = u.over.querySelector(`[data-handle="${name}"]`);
    const handle = there ?? this.made(u, level, side, name);
    const zero = Number(box.dataset.zero);
    const seconds = tenths(this.span(level)[side] - zero);
    handle.style.left = `${left}px`;
    handle.classList.toggle("held", this.moved.has(level.index));
    handle.setAttribute("aria-valuemin", "0");
    handle.setAttribute("aria-valuemax", Number(box.dataset.seconds).toFixed(1));
    handle.setAttribute("aria-valuenow", seconds);
    handle.setAttribute("aria-valuetext", `${seconds} s since the level began`);
    return handle;
  }

  made(u, level, side, name) {
    const handle = document.createElement("span");
    handle.className = "handle";
    handle.dataset.handle = name;
    handle.tabIndex = 0;
    handle.setAttribute("role", "slider");
    handle.setAttribute("aria-label", `${side === "start" ? "Start" : "End"} of the window of level ${level.c}`);
    handle.title = "Arrows move it by one line, with Shift by 1 s. Enter applies, Escape puts it back.";
    const stop = (event) => event.stopPropagation(); // the chart would begin to select
    for (const kind of ["mousedown", "click", "dblclick"]) handle.addEventListener(kind, stop);
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true });
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const left = event.clientX - u.over.getBoundingClientRect().left;
      this.move(level, side, u.posToVal(left, "x") + this.charts.zero);
    });
    handle.addEventListener("keydown", (event) => this.key(event, level, side));
    u.over.append(handle);
    return handle;
  }

  key(event, level, side) {
    const form = formOf(level.index)?.querySelector("form");
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (event.key === "Enter" && this.moved.has(level.index)) form?.requestSubmit(form.querySelector(".btn-primary"));
    else if (event.key === "Escape") this.forget(level, form);
    else if (event.key === "Home") this.move(level, side, Number.NEGATIVE_INFINITY);
    else if (event.key === "End") this.move(level, side, Number.POSITIVE_INFINITY);
    else if (step) this.move(level, side, this.next(this.span(level)[side], step, event.shiftKey));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The time of the next line on that side; by a second where there is none. */
  next(t, step, second) {
    const x = t - this.charts.zero;
    const beyond = second ? [] : this.charts.own.filter((line) => step * (line.x - x) > 0.05);
    const line = step > 0 ? beyond[0] : beyond.at(-1);
    return line ? line.x + this.charts.zero : t + step;
  }

  forget(level, form) {
    this.moved.delete(level.index);
    form?.reset();
    this.redraw();
  }

  /** Within the level, and on its own side of the other handle. */
  move(level, side, t) {
    const box = formOf(level.index);
    const form = box?.querySelector("form");
    if (!form) return;
    const zero = Number(box.dataset.zero);
    const span = { ...this.span(level) };
    const [low, high] =
      side === "start" ? [zero, span.end - LEAST] : [span.start + LEAST, zero + Number(box.dataset.seconds)];
    span[side] = Math.min(Math.max(t, low), high);
    this.moved.set(level.index, { start: span.start, end: span.end });
    box.open = true;
    form[side].value = tenths(span[side] - zero);
    this.redraw();
  }
}
