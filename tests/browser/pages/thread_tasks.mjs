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

/** Ends helpers of a runtime behind its back, then computes again. */
export async function endHelpers(entry) {
  const started = [];
  const OwnWorker = Worker;
  globalThis.Worker = class extends OwnWorker {
    constructor(...given) {
      super(...given);
      started.push(this);
    }
  };
  const { load } = await freshEntry(entry);
  const rw = await load({ threads: 4 });
  globalThis.Worker = OwnWorker;
  const rope = rw.rope({ head_dim: 128, pairing: "half" });
  const compute = () =>
    hashOf(rope.rotate(wave(600 * 8 * 128, 0.1), { layout: "thd", shape: [600, 8, 128], positions: 5 }));
  const before = compute();
  for (const worker of started) worker.terminate();
  const after = compute();
  await rw.useThreads(2);
  return { started: started.length, isSame: after === before && compute() === before, threads: rw.threads };
}

/** Threads of `ropewalk/worker`. */
export async function workerThreads(entry) {
  const { load } = await import(entry);
  const rw = await load({ threads: 3 });
  const counts = [rw.threads];
  await rw.useThreads(2);
  counts.push(rw.threads);
  await rw.dispose();
  return counts;
}
