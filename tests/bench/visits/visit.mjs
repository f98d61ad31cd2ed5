// What an app does when it is opened: loads the package in a Worker, and a model, and reads a prompt.
const WASM = "/dist/wasm/ropewalk.relaxed.wasm";
const PROMPT = Int32Array.from({ length: 32 }, (_, i) => 300 + ((i * 7919) % 500));
/** Tokens after which an engine has compiled the kernels for speed. */
const MORE = 60;

/** Compiled while it arrives, which Chromium keeps. The package compiles bytes. */
const streamed = async () => ({ build: "relaxed", wasm: await WebAssembly.compileStreaming(fetch(WASM)) });

/** Returns milliseconds of each stage. */
globalThis.visit = async (address, way) => {
  const times = [performance.now()];
  const mark = () => times.push(performance.now());
  const { load } = await import("/dist/worker.js");
  mark();
  const rw = await load({ threads: 1, ...(way === "streamed" ? await streamed() : {}) });
  mark();
  const model = await rw.model(address, { cache: "browser" });
  mark();
  const session = await model.session();
  await session.append(PROMPT);
  mark();
  for (let i = 0; i < MORE; i++) await session.append([300 + i]);
  const [imported, loaded, opened, read] = times.slice(1).map((time, i) => time - times[i]);
  return { imported, loaded, opened, read, together: times[4] - times[0] };
};

globalThis.isReady = true;
