// Tasks that tests of loading run in a page. `entry` is the address of the package's main or inline entry.

import { digests } from "./digest.mjs";
import { workedExample } from "./worked_example.mjs";

/** The result or error of a promise, as an object that a page can return to its test. */
export async function outcome(promise) {
  try {
    return { value: await promise };
  } catch (error) {
    return { error: { name: error.name, code: error.code, field: error.field, message: error.message } };
  }
}

let copies = 0;

/** A new copy of the entry, without any loaded module. */
export function freshEntry(entry) {
  return import(`${entry}?copy=${++copies}`);
}

/** The violations of the Content-Security-Policy in this page. */
export function violations() {
  return globalThis.violations;
}

/** Loads a build, and rotates the worked example. */
export async function load(entry, options = {}) {
  const { load } = await freshEntry(entry);
  return outcome(load(options).then((rw) => ({ build: rw.build, numbers: workedExample(rw) })));
}

/** Whether the engine validates the wasm at an address, without the package. */
export async function accepts(address) {
  const response = await fetch(address);
  return WebAssembly.validate(await response.arrayBuffer());
}

/** Loads several times, concurrently and one after the other. */
export async function loadAgain(entry) {
  const { load } = await freshEntry(entry);
  const [first, second] = await Promise.all([load({ build: "simd" }), load({ build: "simd" })]);
  const [third, other] = [await load({ build: "simd" }), await load({ build: "scalar" })];
  return { sameAtOnce: first === second, sameLater: first === third, sameForOtherBuild: first === other };
}

/** Fails with an HTML page, then loads from the right address: a failure isn't cached. */
export async function loadAfterFailure(entry, badWasm) {
  const { load } = await freshEntry(entry);
  const first = await outcome(load({ build: "simd", wasm: badWasm }));
  const second = await outcome(load({ build: "simd" }).then(workedExample));
  return { first, second };
}

/** One caller aborts while another waits for the same module. */
export async function loadAndAbort(entry) {
  const { load } = await freshEntry(entry);
  const controller = new AbortController();
  const [aborted, waiting] = [
    outcome(load({ build: "simd", signal: controller.signal })),
    outcome(load({ build: "simd" }).then(workedExample)),
  ];
  controller.abort();
  return { aborted: await aborted, waiting: await waiting };
}

/** Loads from every kind of source for `wasm`. */
export async function loadFromSources(entry, address) {
  const bytes = await (await fetch(address)).arrayBuffer();
  const sources = {
    "an address": address,
    "a URL": new URL(address, location.href),
    "a response": await fetch(address),
    "a promise of a response": fetch(address),
    bytes,
    "a view of bytes": new Uint8Array(bytes),
    "a compiled module": await WebAssembly.compile(bytes),
  };
  const results = {};
  for (const [name, wasm] of Object.entries(sources)) results[name] = await load(entry, { build: "simd", wasm });
  return results;
}

/** Computes the digests of digest.mjs. */
export async function computeDigests(entry, build, options) {
  const { load } = await freshEntry(entry);
  return digests(await load({ build }), options);
}

/** Difference of the rotation between the relaxed and the simd build, relative to the largest element. */
export async function relaxedError(entry) {
  const { load } = await freshEntry(entry);
  const shape = [64, 4, 128];
  const x = Float32Array.from({ length: 64 * 4 * 128 }, (_, i) => ((i * 7919) % 1024) / 512 - 1);
  const rotatedBy = async (build) => {
    const rope = (await load({ build })).rope({ head_dim: 128, pairing: "half" });
    return rope.rotate(x.slice(), { layout: "thd", shape, positions: 1000 });
  };
  const [simd, relaxed] = [await rotatedBy("simd"), await rotatedBy("relaxed")];
  return Math.max(...simd.map((value, i) => Math.abs(value - relaxed[i])));
}

/** Loads, rotates and computes cases in a module worker. */
export function runInWorker(entry, build, kinds) {
  const worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message || "the worker could not be started"));
    worker.postMessage({ entry, build, kinds });
  }).finally(() => worker.terminate());
}

/** Loads and rotates in a service worker, which is removed afterwards. */
export async function runInServiceWorker(script, question) {
  const answer = new Promise((resolve) =>
    navigator.serviceWorker.addEventListener("message", ({ data }) => resolve(data), { once: true }),
  );
  // each script has a scope of its own, so that none takes the place of another
  const registration = await navigator.serviceWorker.register(new URL(script, import.meta.url), {
    type: "module",
    scope: `./${script}/`,
  });
  const worker = registration.installing ?? registration.waiting ?? registration.active;
  while (worker.state !== "activated")
    await new Promise((resolve) => worker.addEventListener("statechange", resolve, { once: true }));
  worker.postMessage(question);
  return answer.finally(() => registration.unregister());
}

/** Makes wasm memory grow while there are a tensor and a view of it. */
export async function growMemory(entry) {
  const { load } = await freshEntry(entry);
  const rw = await load({ build: "simd" });
  const rope = rw.rope({ head_dim: 4, pairing: "half" });
  const tensor = rw.tensor([1, 1, 4]).set([1, 2, 3, 4]);
  const view = tensor.data;
  const before = rw.memoryBytes;
  const large = rw.tensor([before]); // four times the size of wasm memory
  const grew = rw.memoryBytes > before;
  const kept = Array.from(tensor.data);
  const useOfOldView = await outcome(
    (async () => rope.rotate(view, { layout: "thd", shape: [1, 1, 4], positions: 1 }))(),
  );
  const rotated = Array.from(rope.rotate(tensor, { layout: "thd", positions: 1 }).data, (value) => value.toFixed(6));
  large.dispose();
  return { grew, oldViewLength: view.length, kept, useOfOldView, rotated };
}
