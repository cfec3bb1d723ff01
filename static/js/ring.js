// A run's points by their number: repeats are ignored, a gap is told.
export class Ring {
  constructor() {
    this.last = 0;
    this.seq = [];
    this.t = [];
    this.offset = [];
    this.cols = {};
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

/** Asks the API for everything behind the ring's last point. */
export async function backfill(url, ring) {
  for (;;) {
    const answer = await fetch(`${url}?after=${ring.last}&max=5000`, { headers: { accept: "application/json" } });
    if (!answer.ok || answer.redirected) throw new Error(`points: ${answer.status}`);
    const batch = await answer.json();
    ring.add(batch);
    if (!batch.more) return;
  }
}
