// A run's page while it runs: back-fill by the API, then the stream from that number on.
import { Charts } from "./charts.js";
import { LogPane } from "./logpane.js";
import { reloadParts, setParts, tick } from "./parts.js";
import { Ring, backfill, between } from "./ring.js";

const SILENCE = 5000; // ms without a word until the page says so; the server speaks every 2.5 s
const AGAIN = 1500; // ms before the stream is opened anew
const POLL = 3000; // ms between two looks while there is no stream
const TRIES = 3; // failed openings in a row, then polling

const root = document.getElementById("live");
const notice = document.getElementById("live-notice");
const marks = JSON.parse(document.getElementById("run-marks").textContent);
const pane = new LogPane(document.getElementById("log"));
const pick = (line, jump = true) => pane.hold(line?.offset ?? null, jump);
const charts = new Charts(root, marks, pick, (times) => refine(times));
const ring = new Ring(true);
const gpuRing = new Ring();
const { points, stream, baseline, gpu } = root.dataset;

let logEnd = root.dataset.logEnd === undefined ? null : Number(root.dataset.logEnd);
let ended = marks.final;
let heard = Date.now();
let failures = 0;
let source = null;
let waiting = false;

const draw = () => {
  if (waiting) return; // once per frame, however many batches arrive
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    charts.update(ring);
  });
};

let zoomed = "null"; // only the answer to the last zoom is drawn; all four charts tell of each

/** The zoomed time in more points, if not all of them are drawn; without an answer all stays. */
async function refine(times) {
  const asked = JSON.stringify(times);
  if (!ring.thinned || asked === zoomed) return;
  zoomed = asked;
  const finer = times && (await between(points, ...times).catch(() => null));
  if (asked !== zoomed) return;
  charts.finer = finer;
  draw();
}

const upTo = () => {
  const last = ring.t.findLast((t) => t !== null);
  return last === undefined ? "" : ` Points up to ${new Date(last * 1000).toISOString().slice(11, 19)} UTC are shown.`;
};

const say = (words) => {
  notice.hidden = words === "";
  notice.textContent = words;
};

const hear = () => {
  heard = Date.now();
  failures = 0;
  say("");
};

async function take(batch) {
  if (!ring.add(batch)) await backfill(points, ring);
  draw();
}

async function takeGpu(batch) {
  if (!gpuRing.add(batch)) await backfill(gpu, gpuRing);
  draw();
}

function takeState(event) {
  setParts(event.parts);
  charts.setMarks(event.marks);
  draw();
}

function connect() {
  const from = logEnd === null ? "" : `&log=${logEnd}`;
  const gpuFrom = gpu ? `&gpu=${gpuRing.last}` : "";
  source = new EventSource(`${stream}?after=${ring.last}${from}${gpuFrom}`);
  const on = (name, take_) =>
    source.addEventListener(name, (event) => {
      hear();
      take_(JSON.parse(event.data));
    });
  on("points", take);
  on("gpu", takeGpu);
  on("state", takeState);
  on("beat", () => {});
  on("log", (event) => {
    logEnd = event.end;
    pane.append(event);
  });
  on("reset", () => location.reload());
  on("end", () => {
    ended = true;
    source.close();
  });
  source.onerror = () => {
    source.close(); // the cursor is ours: we come again with it, not the browser
    if (ended) return;
    failures += 1;
    setTimeout(failures >= TRIES ? poll : connect, AGAIN);
  };
}

/** Without a stream: the API for points, the page itself for its parts, then the stream again. */
async function poll() {
  try {
    await backfill(points, ring);
    if (gpu) await backfill(gpu, gpuRing);
    const page = await reloadParts();
    const fresh = JSON.parse(page.getElementById("run-marks").textContent);
    charts.setMarks(fresh);
    draw();
    pane.replace(page);
    const end = page.getElementById("live").dataset.logEnd;
    if (end !== undefined) logEnd = Number(end);
    heard = Date.now();
    ended = fresh.final;
    say(ended ? "" : "The live stream cannot be opened; this page asks every 3 s instead.");
  } catch {
    say(`No answer from Throughline. The run goes on without this page.${upTo()}`);
  }
  if (ended) return;
  setTimeout(() => {
    failures = TRIES - 1; // one more try at the stream, then polling again
    connect();
  }, POLL);
}

function watchSilence() {
  setInterval(() => {
    if (ended || Date.now() - heard < SILENCE) return;
    if (failures < TRIES) say(`Reconnecting.${upTo()}`);
    if (Date.now() - heard > 3 * SILENCE && source?.readyState === EventSource.OPEN) {
      source.close(); // a dead link that nobody has told the browser of
      heard = Date.now();
      connect();
    }
  }, 1000);
}

async function start() {
  tick(Number(root.dataset.now));
  pane.label();
  try {
    if (gpu) charts.setGpus(gpuRing);
    await Promise.all([backfill(points, ring), gpu ? backfill(gpu, gpuRing) : null]);
    draw();
    if (baseline) {
      const other = new Ring(true);
      backfill(baseline, other).then(() => {
        charts.setBaseline(other);
        draw();
      });
    }
  } catch {
    say("The points cannot be read. Reload the page.");
    return;
  }
  if (!ended) {
    connect();
    watchSilence();
  }
}

start();
