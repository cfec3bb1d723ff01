// The charts of a run under one cursor, drawn by uPlot.
import { bandRow, drawBands } from "./bands.js";
import { SPECS, clock, fixed, group, roundUp, show } from "./chartspecs.js";
import { NONE, gpuReadings, gpuRows } from "./gpu.js";
import { armColor, color, onTheme } from "./palette.js";
import { alignByLevel, decodeLines, merge, nearest, refined, zeroOf } from "./series.js";
import { Windows } from "./windows.js";

const AXIS = 46; // px at the left, equal in all charts so that one cursor fits all
const BOTTOM = 28;
const RIGHT = 16; // px: half of the last time, which may stand at the very end

export class Charts {
  constructor(root, marks, onPick, onZoom) {
    this.root = root;
    this.marks = marks;
    this.onPick = onPick;
    this.onZoom = onZoom;
    this.finer = null; // a ring of the zoomed time, where the whole run is drawn in few points
    this.own = [];
    this.base = [];
    this.gpu = []; // one row for each instant
    this.at = null; // index of the own line under the cursor
    this.zoomed = null;
    this.charts = [];
    this.baseRing = null;
    this.gpuRing = null;
    this.grid = root.querySelector(".lc");
    this.windows = new Windows(this);
    onTheme(() => this.charts.forEach((chart) => chart.redraw(false)));
    // the arrows work as soon as nothing else on the page has the focus
    document.addEventListener("keydown", (event) => this.key(event));
    this.zoomOut = root.querySelector("[data-zoom-out]");
    this.zoomOut?.addEventListener("click", () => this.zoom(null));
  }

  setMarks(marks) {
    this.marks = marks;
  }

  setBaseline(ring) {
    this.baseRing = ring;
  }

  setGpus(ring) {
    this.gpuRing = ring;
  }

  /** Sampling begins before measuring and ends after it. */
  within(rows) {
    const right = this.extent()[1];
    return rows.filter((row) => row.x >= 0 && row.x <= right);
  }

  /** The rows that a chart draws. */
  rows(spec) {
    return spec.of === "gpu" ? this.gpu : this.own;
  }

  /** Draw what the ring holds now. */
  update(ring) {
    const zero = zeroOf(this.marks.levels, ring);
    const { lines, timed } = decodeLines(ring, zero);
    this.zero = zero;
    this.timed = timed;
    // what was printed before measuring (a smoke test, a warm-up) is not drawn
    const measured = this.marks.levels.some((level) => level.start !== null);
    this.own = timed && measured ? lines.filter((line) => line.x >= 0) : lines;
    if (this.finer && timed) this.own = refined(this.own, decodeLines(this.finer, zero).lines);
    this.drawn(ring);
    this.base =
      timed && this.baseRing && this.marks.baseline
        ? alignByLevel(this.baseRing, this.marks.baseline.levels, this.marks.levels, zero)
        : [];
    if (!this.own.length) return;
    this.gpu = timed && this.gpuRing ? this.within(gpuRows(this.gpuRing, zero)) : [];
    const drawn = this.charts.some((chart) => chart.spec.of === "gpu");
    if (!this.charts.length || drawn !== this.gpu.length > 0) this.build();
    this.setData();
    this.read();
  }

  /** Says how many of how many samples are drawn, if not all. */
  drawn(ring) {
    const words = this.root.querySelector("[data-drawn]");
    words.textContent = ring.thinned
      ? `${group(this.own.length)} of ${group(ring.total)} samples drawn; minima and maxima kept`
      : "";
  }

  /** What stands beside the canvas and moves with it. */
  beside() {
    bandRow(this);
    this.windows.handles();
    this.flags();
  }

  build() {
    this.grid.hidden = false;
    this.root.querySelector(".chart-foot").hidden = false;
    for (const chart of this.charts) chart.destroy();
    for (const cell of this.grid.querySelectorAll("[data-of-gpu]")) cell.hidden = !this.gpu.length;
    const boxes = [...this.root.querySelectorAll("[data-chart]:not([hidden])")];
    this.charts = boxes.map((box, i) => this.chart(box, i === boxes.length - 1));
    this.watch?.disconnect();
    this.watch = new ResizeObserver(() => {
      for (const [i, box] of boxes.entries()) {
        this.charts[i].setSize({ width: box.clientWidth, height: box.clientHeight });
      }
    });
    this.watch.observe(boxes[0]);
  }

  chart(box, last) {
    const key = box.dataset.chart;
    const spec = SPECS[key];
    const letter = this.marks.letter;
    const ink = { stroke: () => armColor(letter), width: 1.75, spanGaps: false };
    const series = [{}];
    for (const name of spec.own) {
      series.push({
        ...ink,
        ...(name !== spec.own[0] ? { stroke: () => color("--warn-line"), width: 1.5 } : {}),
        points: { show: (u) => this.rows(spec).length <= 40, size: 4, fill: () => color("--surface") },
      });
    }
    if (spec.base) {
      series.push({ stroke: () => color("--ink-3"), width: 1.25, dash: [4, 3], points: { show: false } });
    }
    const axis = {
      stroke: () => color("--ink-3"),
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
      grid: { stroke: () => color("--hair"), width: 1 },
      ticks: { show: false },
    };
    const chart = new uPlot(
      {
        width: box.clientWidth,
        height: box.clientHeight,
        legend: { show: false },
        padding: [6, RIGHT, last ? 0 : 6, 0],
        cursor: {
          y: false,
          sync: { key: "run" },
          // the baseline is read at the right; its own point would sit beside the cursor
          dataIdx: (u, i, at) => (i > spec.own.length ? null : at),
          points: { size: 7, width: 2, stroke: () => color("--accent"), fill: () => color("--surface") },
          drag: { x: true, y: false, setScale: false },
        },
        scales: {
          x: { time: false, range: () => this.range() },
          y: { range: (u, low, high) => this.height(spec, high) },
        },
        axes: [
          {
            ...axis,
            show: last,
            size: BOTTOM,
            gap: 7,
            space: 64,
            incrs: this.timed ? [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600] : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
            values: (u, values) => values.map((v) => (this.timed ? clock(v) : group(v))),
            grid: { show: false },
          },
          {
            ...axis,
            size: AXIS,
            gap: 6,
            // from the foot to the top, which were chosen round
            splits: (u, i, low, high) =>
              spec.every && high - low <= 4
                ? Array.from({ length: Math.round(high - low) + 1 }, (_, n) => low + n * spec.every)
                : [low, (low + high) / 2, high],
            values: (u, values) =>
              values.map((v) => (v >= 100 ? group(v) : String(Math.round(v * 100) / 100))),
          },
        ],
        series,
        hooks: {
          drawClear: [(u) => drawBands(this, u), (u) => this.windows.draw(u)],
          draw: [
            (u) => this.drawEnds(u, spec),
            // only now the scales are those of the new points
            (u) => u === this.charts[0] && this.beside(),
          ],
          setCursor: [(u) => u === this.charts[0] && this.moved(u)],
          setSelect: [(u) => this.selected(u)],
        },
      },
      [[], ...series.slice(1).map(() => [])],
      box,
    );
    chart.spec = spec;
    chart.over.addEventListener("click", () => this.at !== null && this.onPick(this.own[this.at]));
    chart.over.addEventListener("dblclick", () => this.zoom(null));
    return chart;
  }

  range() {
    return this.zoomed ?? this.extent();
  }

  extent() {
    const last = this.own.length ? this.own[this.own.length - 1].x : 1;
    if (!this.timed) return [0.5, Math.max(last + 0.5, 2)];
    const ends = this.marks.levels.map((level) => (level.end ?? 0) - this.zero);
    const right = Math.max(last, ...ends, 1);
    return [0, this.marks.final ? right : Math.max(right * 1.16, 20)];
  }

  height(spec, high) {
    if (spec.top) return [spec.from, spec.top];
    const most = Math.max(high ?? 0, spec.least ?? 0);
    return [spec.from, most > spec.from ? (spec.up ?? roundUp)(most) : spec.from + 1];
  }

  setData() {
    for (const chart of this.charts) {
      const keys = chart.spec.own.map((key) => ({ of: "own", key }));
      const base = chart.spec.base ? this.base : [];
      if (chart.spec.base) keys.push({ of: "base", key: chart.spec.base });
      const { xs, columns, ownIndex } = merge(this.rows(chart.spec), base, keys);
      chart.ownIndex = ownIndex;
      chart.setData([xs, ...columns]);
    }
  }

  /** A dot at each line's newest point; where two lines share a chart, their names. */
  drawEnds(u, spec) {
    const line = this.rows(spec).at(-1);
    if (!line) return;
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    const x = u.valToPos(line.x, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.save();
    for (const name of spec.own) {
      if (line[name] === null) continue;
      const y = u.valToPos(line[name], "y", true);
      const second = name !== spec.own[0];
      ctx.fillStyle = second ? color("--warn-line") : armColor(this.marks.letter);
      ctx.beginPath();
      ctx.arc(x, y, 3 * ratio, 0, 2 * Math.PI);
      ctx.fill();
      const room = bbox.left + bbox.width - x > 74 * ratio;
      if (spec.own.length < 2 || !room || (name === "waiting" && !line.waiting)) continue;
      ctx.fillStyle = second ? color("--warn") : armColor(this.marks.letter);
      ctx.font = `600 ${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
      ctx.textAlign = "left";
      ctx.textBaseline = "middle";
      ctx.fillText(`${line[name]} ${spec.units?.[name] ?? name}`, x + 9 * ratio, y);
    }
    ctx.restore();
  }

  /** Flags on the first chart: what happened, at its place. */
  flags() {
    const u = this.charts[0];
    for (const old of u.over.querySelectorAll(".flag")) old.remove();
    if (!this.timed) return;
    for (const flag of this.marks.flags) {
      const left = u.valToPos(flag.t - this.zero, "x");
      if (left < 0 || left > u.over.clientWidth) continue;
      const mark = document.createElement("span");
      mark.className = "flag";
      mark.textContent = flag.text;
      mark.style.left = `${left}px`;
      u.over.append(mark);
      // at the right end its words stand before their place, and the page stays as wide as it is
      if (left + mark.offsetWidth > u.over.clientWidth) mark.style.transform = "translateX(-100%)";
    }
  }

  moved(u) {
    const { idx, left } = u.cursor;
    const off = left === undefined || left < 0 || idx === null || idx === undefined;
    this.at = off ? null : nearest(this.own, u.posToVal(left, "x"));
    this.tellSpot(off ? this.zoomed : [u.posToVal(left, "x")]);
    this.read();
    this.onPick(this.at === null ? null : this.own[this.at], false);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const free = event.target === document.body || event.target === this.root;
    if (!step || !free || event.ctrlKey || event.metaKey || event.altKey || !this.own.length) return;
    event.preventDefault();
    const from = this.at ?? (step < 0 ? this.own.length : -1);
    const at = Math.min(Math.max(from + step, 0), this.own.length - 1);
    const u = this.charts[0];
    u.setCursor({ left: u.valToPos(this.own[at].x, "x"), top: 10 }, true, true); // told to all charts
    this.at = at;
    this.read();
    this.onPick(this.own[at]);
  }

  selected(u) {
    const { left, width } = u.select;
    if (width < 8) return;
    const range = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoom(range);
  }

  /** For a note: seconds since measuring began, at the cursor or of what is zoomed to. */
  tellSpot(range) {
    if (!this.timed || !range) delete this.root.dataset.atSeconds;
    else this.root.dataset.atSeconds = `${range.map((x) => Math.max(0, x).toFixed(1)).join("-")} s`;
  }

  /** Show a range of x in all charts; null shows everything and follows again. */
  zoom(range) {
    this.zoomed = range;
    if (this.zoomOut) this.zoomOut.hidden = range === null;
    const [min, max] = this.range();
    for (const chart of this.charts) chart.setScale("x", { min, max });
    this.tellSpot(range);
    if (this.timed) this.onZoom(range?.map((x) => x + this.zero) ?? null);
  }

  /** The readings at the right: at the cursor, else the latest. */
  read() {
    if (!this.own.length) return;
    const line = this.own[this.at ?? this.own.length - 1];
    const base = this.base.length ? this.base[nearest(this.base, line.x)] : null;
    const under = (key) =>
      base && Math.abs(base.x - line.x) < 10 ? `baseline ${show(base[key], SPECS[key].words)}` : "";
    this.reading("output_tps", show(line.output_tps, SPECS.output_tps.words), under("output_tps"));
    this.reading("accept_len", show(line.accept_len, SPECS.accept_len.words), under("accept_len"));
    const limit = this.marks.limit ? `limit ${this.marks.limit}` : "";
    this.reading("requests", `${show(line.running, group)} + ${show(line.waiting, group)}`, limit);
    const tokens = line.tokens === null ? "" : `${group(line.tokens)} tokens`;
    this.reading("token_usage", show(line.token_usage, fixed(2)), tokens);
    const beside = this.gpu.length ? this.gpu[nearest(this.gpu, line.x)] : null;
    if (beside) {
      const told = Math.abs(beside.x - line.x) < 10 ? gpuReadings(beside) : NONE;
      for (const [key, [value, under]] of Object.entries(told)) this.reading(key, value, under);
    }
    const where = this.timed ? clock(line.x) : `line ${line.x}`;
    this.root.querySelector("[data-at]").textContent = this.at === null ? "latest" : `at ${where}`;
    const words = this.root.querySelector("[data-cursor-words]");
    const stamp = line.t === null ? "" : `, ${new Date(line.t * 1000).toISOString().slice(11, 19)} UTC`;
    words.textContent = this.at === null ? "" : `cursor ${where}${stamp}`;
  }

  reading(key, value, under) {
    const box = this.root.querySelector(`[data-reading="${key}"]`);
    const small = document.createElement("span");
    small.textContent = under;
    box.replaceChildren(value, small);
  }
}
