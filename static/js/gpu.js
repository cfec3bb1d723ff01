// From single samples of GPUs to what the charts draw: one row for each instant of all GPUs.
import { group } from "./chartspecs.js";

const TOGETHER = 0.5; // s: samples of one round lie closer

const least = (a, b) => (a === null ? b : b === null ? a : Math.min(a, b));
const most = (a, b) => (a === null ? b : b === null ? a : Math.max(a, b));
// Where a run was given no GPUs of its own, all of the host are sampled: idle ones tell no clock.
const atWork = (use) => use === null || use >= 50;
const sum = (a, b) => (a === null || b === null ? null : a + b);

/** Rows {x, t, clock, power, limit, temperature, utilization, slowed, strangers, gpus}. */
export function gpuRows(ring, zero) {
  const c = ring.cols;
  const rows = [];
  let before = Infinity;
  for (let i = 0; i < ring.length; i++) {
    const use = c.utilization[i] === null ? null : Math.round(c.utilization[i] * 100);
    const row = rows.at(-1);
    if (row && c.gpu[i] > before && ring.t[i] - row.t < TOGETHER) {
      const works = atWork(use);
      if (works === row.works) {
        row.clock = least(row.clock, c.sm_mhz[i]);
        row.utilization = least(row.utilization, use);
      } else if (works) {
        Object.assign(row, { works, clock: c.sm_mhz[i], utilization: use });
      }
      row.power = sum(row.power, c.power_w[i]);
      row.limit = sum(row.limit, c.power_limit_w[i]);
      row.temperature = most(row.temperature, c.temperature_c[i]);
      row.slowed ||= c.slowed[i] ?? "";
      row.strangers = most(row.strangers, c.strangers[i]);
      row.gpus += 1;
    } else {
      rows.push({
        x: ring.t[i] - zero,
        t: ring.t[i],
        clock: c.sm_mhz[i],
        power: c.power_w[i],
        limit: c.power_limit_w[i],
        temperature: c.temperature_c[i],
        utilization: use,
        works: atWork(use),
        slowed: c.slowed[i] ?? "",
        strangers: c.strangers[i],
        gpus: 1,
      });
    }
    before = c.gpu[i];
  }
  return rows;
}

const unknown = (value, words) => (value === null ? "·" : words(value));

/** What stands at the right of each GPU chart: [value, what is under it]. */
export function gpuReadings(row) {
  const others = row.strangers ? `${row.strangers} not ours` : "";
  return {
    gpu_clock: [unknown(row.clock, (v) => `${group(v)} MHz`), row.slowed || others],
    gpu_power: [unknown(row.power, (v) => `${group(v)} W`), unknown(row.limit, (v) => `limit ${group(v)}`)],
    gpu_heat: [unknown(row.temperature, (v) => `${v} °C`), unknown(row.utilization, (v) => `${v} % in use`)],
  };
}

export const NONE = { gpu_clock: ["·", ""], gpu_power: ["·", ""], gpu_heat: ["·", ""] };
