// What each chart shows: its columns, where its axis begins, how its values look.
export const group = (value) => Math.round(value).toLocaleString("en-GB");
export const fixed = (digits) => (value) => value.toFixed(digits);
const UNKNOWN = "·";
export const show = (value, words) => (value === null || value === undefined ? UNKNOWN : words(value));

export const clock = (seconds) => {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor(whole / 60) % 60, String(whole % 60).padStart(2, "0")];
  const hours = Math.floor(whole / 3600);
  return hours ? `${hours}:${String(parts[0]).padStart(2, "0")}:${parts[1]}` : parts.join(":");
};

export const SPECS = {
  output_tps: { own: ["output_tps"], base: "output_tps", from: 0, step: 1, words: (v) => (v >= 100 ? group(v) : v.toFixed(1)) },
  accept_len: { own: ["accept_len"], base: "accept_len", from: 1, least: 2, up: Math.ceil, every: 1, words: fixed(2) },
  requests: { own: ["running", "waiting"], base: null, from: 0, least: 2, up: roundUpCount, words: group },
  token_usage: { own: ["token_usage"], base: null, from: 0, top: 1, words: fixed(2) },
  gpu_clock: { of: "gpu", own: ["clock"], base: null, from: 0 },
  gpu_power: { of: "gpu", own: ["power"], base: null, from: 0 },
  gpu_heat: { of: "gpu", own: ["temperature", "utilization"], base: null, from: 0, top: 100, units: { temperature: "°C", utilization: "%" } },
};

/** The next number at or above `value` whose half is round too. */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((m) => m * power).find((top) => top >= value * 0.999);
}

/** The same for counts: their half is a whole number. */
function roundUpCount(value) {
  let top = 2;
  while (top < value) top = Number.isInteger(Math.log2(top)) ? top * 1.5 + (top === 2 ? 1 : 0) : 2 ** Math.ceil(Math.log2(top));
  return top;
}
