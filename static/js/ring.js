// A run's points by their number: repeats are ignored, a gap is told.
import { DRAWN } from "./series.js";

const MOST = 4000; // points of one answer: about two for each pixel of a wide screen

export class Ring {
  constructor(few = false) {
    this.few = few; // whether a whole run is asked for in few points at first
    this.last = 0; // number of the newest sample looked at, drawn or not
    this.seq = [];
    this.t = [];
    this.offset = [];
    this.cols = {};
    this.total = 0; // samples that could be drawn, where some of a long log are left out
    this.thinned = false;
  }

  /** Takes a whole run in few points; what follows lies behind `batch.last`. */
  fill(batch) {
    const { seq, t, offset, cols, last, total, thinned } = batch;
    Object.assign(this, { seq, t, offset, cols, last, total, thinned });
  }

  get length() {
    return this.seq.length;
  }

  /** Adds a batch of columns. Returns false if points between it and ours are missing. */
  add(batch) {
    if (!batch.n) return true;
    if (batch.seq0 > this.last + 1) return false;
    for (let i = 0; i < batch.n; i++) {
      if (batch.seq[i] <= this.last) continue;
      this.last = batch.seq[i];
      if (DRAWN.has(batch.cols.phase?.[i])) this.total += 1;
      this.seq.push(batch.seq[i]);
      this.t.push(batch.t[i]);
      this.offset.push(batch.offset[i]);
      for (const [name, values] of Object.entries(batch.cols)) {
        (this.cols[name] ??= []).push(values[i]);
      }
    }
    return true;
  }
}

async function ask(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } });
  if (!answer.ok || answer.redirected) throw new Error(`points: ${answer.status}`);
  return answer.json();
}

/** Asks the API for everything behind the ring's last point; of a whole run for few points, if the ring wants few. */
export async function backfill(url, ring) {
  if (ring.few && ring.last === 0) ring.fill(await ask(`${url}?thin=${MOST}`));
  for (;;) {
    const batch = await ask(`${url}?after=${ring.last}&max=5000`);
    ring.add(batch);
    if (!batch.more) return;
  }
}

/** What was printed between two times (epoch seconds), as finely as so many points allow. */
export async function between(url, from, to) {
  const ring = new Ring();
  ring.fill(await ask(`${url}?thin=${MOST}&from=${from}&to=${to}`));
  return ring;
}
