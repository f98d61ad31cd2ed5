// Tasks that tests of threads run in a page.
import { freshEntry, outcome } from "./tasks.mjs";

/** The numbers of threads after load(options) and each useThreads(), or the errors. */
export async function countThreads(entry, options, changes = []) {
  const { load } = await freshEntry(entry);
  const loading = await outcome(load(options));
  const counts = [loading.error ?? loading.value.threads];
  for (const threads of changes) {
    const { error } = await outcome(loading.value.useThreads(threads));
    counts.push(error ?? loading.value.threads);
  }
  return counts;
}

/** Why there is one thread. */
export async function oneThread(entry, options) {
  const { load } = await freshEntry(entry);
  return (await load(options)).oneThread ?? null;
}

/** Whether this page is isolated from other origins, and its number of cores. */
export const isolation = () => ({ isIsolated: crossOriginIsolated, cores: navigator.hardwareConcurrency });

const wave = (length, step) => Float32Array.from({ length }, (_, i) => Math.sin(i * step));

/** A hash of the bits of an array (FNV-1a over words). */
function hashOf(array) {
  let hash = 0x811c9dc5;
  for (const word of new Uint32Array(array.buffer, array.byteOffset, array.length))
    hash = Math.imul(hash ^ word, 0x01000193) >>> 0;
  return hash;
}

/** Hashes of a rotation, of attention and of a model's logits, with jobs large enough to be divided, for each number of threads. */
export async function hashes(entry, modelAddress, build, counts) {
  const { load } = await freshEntry(entry);
  const rw = await load({ build, threads: counts[0] });
  const model = await rw.model(modelAddress, { contextLength: 512 });
  const rope = rw.rope({ head_dim: 128, pairing: "half" });
  const [q, k, v] = [0.3, 0.7, 1.1].map((step) => wave(200 * 8 * 64, step));
  const results = [];
  for (const threads of counts) {
    await rw.useThreads(threads);
    const session = model.session();
    await session.append(Array.from({ length: 300 }, (_, i) => 3 + (i % 60)));
    await session.append([7]);
    const shape = [200, 8, 64];
    results.push(
      [
        rope.rotate(wave(600 * 8 * 128, 0.1), { layout: "thd", shape: [600, 8, 128], positions: 5 }),
        rw.attention(q, k, v, { layout: "thd", shape, kvShape: shape }),
        session.logits(),
      ].map(hashOf),
    );
    session.dispose();
  }
  return results;
}

/** Collects the Workers that this page starts. They tell whether they were ended. */
function watchWorkers() {
  const started = [];
  const OwnWorker = Worker;
  globalThis.Worker = class extends OwnWorker {
    hasEnded = false;
    constructor(...given) {
      super(...given);
      started.push(this);
    }
    terminate() {
      this.hasEnded = true;
      super.terminate();
    }
  };
  const running = () => started.filter(({ hasEnded }) => !hasEnded).length;
  return { started, running, stop: () => (globalThis.Worker = OwnWorker) };
}

/** Ends helpers of a runtime behind its back, then computes again. */
export async function endHelpers(entry) {
  const { started, stop } = watchWorkers();
  const { load } = await freshEntry(entry);
  const rw = await load({ threads: 4 });
  stop();
  const rope = rw.rope({ head_dim: 128, pairing: "half" });
  const compute = () =>
    hashOf(rope.rotate(wave(600 * 8 * 128, 0.1), { layout: "thd", shape: [600, 8, 128], positions: 5 }));
  const before = compute();
  for (const worker of started) worker.terminate();
  const after = compute();
  await rw.useThreads(2);
  return { started: started.length, isSame: after === before && compute() === before, threads: rw.threads };
}

/** Threads of `ropewalk/worker`, and the Workers that run: after load(), after a change of their number, and after dispose(). */
export async function workerThreads(entry) {
  const { running, stop } = watchWorkers();
  const { load } = await import(entry);
  const rw = await load({ threads: 3 });
  const counts = [[rw.threads, running()]];
  await rw.useThreads(2);
  counts.push([rw.threads, running()]);
  await rw.dispose();
  counts.push([rw.threads, running()]);
  stop();
  return counts;
}

/**
 * Aborts load() of `ropewalk/worker` as soon as 1, 2 … Workers run, at once or after the page was busy, so that messages of the Worker wait. Returns
 * how many loads were aborted, the most Workers that ran, and how many still run.
 */
export async function abortLoads(entry) {
  const { running, stop } = watchWorkers();
  const { load } = await import(entry);
  const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  let aborted = 0;
  let most = 0;
  for (const [count, busyMs] of [1, 2, 3, 4].flatMap((count) => [0, 100, 300].map((busyMs) => [count, busyMs]))) {
    const controller = new AbortController();
    const loading = outcome(load({ threads: 4, signal: controller.signal }));
    for (let tries = 0; running() < count && tries < 1000; tries++) await delay(1);
    most = Math.max(most, running());
    for (const end = performance.now() + busyMs; performance.now() < end;);
    controller.abort();
    const { value, error } = await loading;
    if (error !== undefined) aborted += 1;
    await value?.dispose();
  }
  await delay(500); // messages of the ended Workers may still arrive
  stop();
  return { aborted, most, running: running() };
}

/** A model of `ropewalk/worker` reads a prompt after its helpers were ended behind its back: whether its logits are the same, and its threads. */
export async function endHelpersOfWorker(entry, modelAddress) {
  const { started, stop } = watchWorkers();
  const { load } = await import(entry);
  const rw = await load({ threads: 4 });
  stop();
  const model = await rw.model(modelAddress, { contextLength: 512 });
  const logits = async () => {
    const session = await model.session();
    await session.append(Array.from({ length: 300 }, (_, i) => 3 + (i % 60)));
    return hashOf(await session.logits());
  };
  const before = await logits();
  for (const worker of started.slice(1)) worker.terminate();
  const isSame = (await logits()) === before;
  await rw.useThreads(2);
  const result = { started: started.length, isSame, threads: rw.threads };
  await rw.dispose();
  return result;
}
