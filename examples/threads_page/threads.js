// Says whether this page can use threads, why, and what they bring.
import { load } from "../../dist/index.js";

const WORKER = "../isolation_worker.js";
const ROUNDS = 5;
const byId = (id) => document.getElementById(id);

/** Adds a row of texts or elements to a table. */
function addRow(table, [head, ...cells]) {
  const row = byId(table).tBodies[0].insertRow();
  const title = Object.assign(document.createElement("th"), { scope: "row", textContent: head });
  row.append(title);
  for (const cell of cells) row.insertCell().append(cell);
}

/** The header that isolates this page, or what adds it. */
async function isolatedBy() {
  if (!crossOriginIsolated) return "nothing";
  if (navigator.serviceWorker?.controller) return "the service worker of this page";
  const { headers } = await fetch(location.href, { method: "HEAD" });
  const policy = headers.get("document-isolation-policy");
  if (policy) return `Document-Isolation-Policy: ${policy}`;
  return `Cross-Origin-Embedder-Policy: ${headers.get("cross-origin-embedder-policy") ?? "unknown"}`;
}

async function showFacts(rw) {
  byId("answer").textContent =
    rw.threads > 1 ? `Yes: Ropewalk uses ${rw.threads} threads.` : "No: Ropewalk uses one thread.";
  addRow("facts", ["cross-origin isolated", crossOriginIsolated ? "yes" : "no"]);
  addRow("facts", ["isolated by", await isolatedBy()]);
  addRow("facts", ["processor cores", String(navigator.hardwareConcurrency)]);
  addRow("facts", ["build", rw.build]);
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const nextTask = () => new Promise((resolve) => setTimeout(resolve));

/** Milliseconds of attention over 1,024 tokens for each number of threads. All numbers alternate, so that a slow moment affects each. */
async function measure(rw, counts) {
  const shape = [1024, 8, 64];
  const random = () => Float32Array.from({ length: 1024 * 8 * 64 }, () => Math.random() - 0.5);
  const [q, k, v] = [random(), random(), random()].map((values) => rw.tensor(shape).set(values));
  const out = rw.tensor(shape);
  const run = () => rw.attention(q, k, v, { layout: "thd", out });
  const times = counts.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, threads] of counts.entries()) {
      await rw.useThreads(threads);
      await nextTask();
      run();
      const start = performance.now();
      run();
      times[i].push(performance.now() - start);
    }
  }
  return times.map(median);
}

async function showSpeed(rw) {
  const most = rw.threads;
  const counts = [1, 2, 4, 8].filter((count) => count < most).concat(most);
  const times = await measure(rw, counts);
  const speeds = times.map((time) => times[0] / time);
  for (const [i, threads] of counts.entries()) {
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.style.width = `${(100 * speeds[i]) / Math.max(...speeds)}%`;
    addRow("times", [String(threads), `${times[i].toFixed(1)} ms`, `${speeds[i].toFixed(2)}×`, bar]);
  }
  const last = speeds.at(-1);
  byId("speed").textContent =
    most === 1
      ? "With one thread there is nothing to compare."
      : `${most} threads are ${last.toFixed(1)} times as fast as one. Results have the same bits.`;
}

/** Offers to add or remove the service worker. */
async function offerWorker() {
  if (!navigator.serviceWorker) return;
  const registration = await navigator.serviceWorker.getRegistration();
  const [isolate, release] = [byId("isolate"), byId("release")];
  isolate.hidden = crossOriginIsolated || registration !== undefined;
  release.hidden = registration === undefined;
  isolate.onclick = async () => {
    await navigator.serviceWorker.register(WORKER, { scope: "/" });
    await navigator.serviceWorker.ready;
    location.reload();
  };
  release.onclick = async () => {
    await registration.unregister();
    location.reload();
  };
}

try {
  await offerWorker();
  const rw = await load();
  await showFacts(rw);
  await showSpeed(rw);
} catch (error) {
  byId("problem").textContent = error.message;
  byId("problem").hidden = false;
}
