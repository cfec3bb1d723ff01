// From points to what the charts draw: seconds since measuring began, baseline aligned by level.

// One line of each of these tells a speed; the rest are prefills, or say more of the line before.
export const DRAWN = new Set(["decode", "interval", "iteration", "request"]);

/** Decode lines of a ring as rows {x, seq, offset, …}; x is seconds since `zero`, or a line count. */
export function decodeLines(ring, zero) {
  const timed = zero !== null && ring.t.every((t) => t !== null);
  const { phase, output_tps, accept_len, running, waiting, token_usage, tokens } = ring.cols;
  const lines = [];
  for (let i = 0; i < ring.length; i++) {
    if (phase[i] === "spec_interval" && lines.length) lines.at(-1).accept_len ??= accept_len[i];
    if (!DRAWN.has(phase[i])) continue;
    lines.push({
      x: timed ? ring.t[i] - zero : ring.thinned ? ring.seq[i] : lines.length + 1,
      t: timed ? ring.t[i] : null,
      offset: ring.offset[i],
      output_tps: output_tps[i],
      accept_len: accept_len[i],
      running: running[i],
      waiting: waiting[i],
      token_usage: token_usage[i],
      tokens: tokens[i],
    });
  }
  if (timed) lines.sort((a, b) => a.x - b.x);
  return { lines, timed };
}

/** Lines with those of a shorter time in their finer form. */
export function refined(lines, finer) {
  if (!finer.length) return lines;
  const [from, to] = [finer[0].x, finer.at(-1).x];
  return [...lines.filter((line) => line.x < from), ...finer, ...lines.filter((line) => line.x > to)];
}

/** The first level's start, else the first point's time; null if nothing tells the time. */
export function zeroOf(levels, ring) {
  const starts = levels.map((level) => level.start).filter((start) => start !== null);
  if (starts.length) return Math.min(...starts);
  return ring.t.find((t) => t !== null) ?? null;
}

/** The baseline's lines of each level, moved to where this run's level of that size began. */
export function alignByLevel(ring, theirs, ours, zero) {
  const moved = [];
  for (const level of ours) {
    const other = theirs.find((candidate) => candidate.c === level.c);
    if (level.start === null || !other || other.start === null) continue;
    const until = level.end ?? Infinity;
    const { lines } = decodeLines(ring, other.start);
    for (const line of lines) {
      const at = level.start + line.x;
      if (line.x < 0 || (other.end !== null && line.t > other.end) || at > until) continue;
      moved.push({ ...line, x: at - zero });
    }
  }
  return moved.sort((a, b) => a.x - b.x);
}

/** Two sorted lists on one axis: undefined where only the other one has a point. */
export function merge(own, base, keys) {
  const xs = [];
  const columns = keys.map(() => []);
  const ownIndex = [];
  let i = 0;
  let j = 0;
  while (i < own.length || j < base.length) {
    const mine = j >= base.length || (i < own.length && own[i].x <= base[j].x);
    const line = mine ? own[i] : base[j];
    xs.push(line.x);
    ownIndex.push(mine ? i : -1);
    keys.forEach(({ of, key }, k) => {
      columns[k].push((of === "own") === mine ? line[key] : undefined);
    });
    if (mine) i++;
    else j++;
  }
  return { xs, columns, ownIndex };
}

/** Index of the line nearest to x; -1 if there is none. */
export function nearest(lines, x) {
  let low = 0;
  let high = lines.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (lines[middle].x < x) low = middle;
    else high = middle;
  }
  return Math.abs(lines[low].x - x) <= Math.abs(lines[high].x - x) ? low : high;
}
