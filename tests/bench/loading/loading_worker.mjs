// Loads a model in a Worker, and reads the same bytes without loading them.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { load } from "/dist/index.js";
import { timed } from "../measure.mjs";

/** Files that cached downloads are in. */
async function cachedFiles() {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("ropewalk-models");
  const files = [];
  for await (const file of folder.values()) files.push(file);
  return files;
}

async function readStream(stream) {
  for (const reader = stream.getReader(); !(await reader.read()).done;);
}

let rw, sources;

/** Ways to read a model's bytes to the end, each the fastest that a Worker has. */
const READ = {
  server: async ({ address }) => readStream((await fetch(address)).body),
  file: ({ file }) => readStream(file.stream()),
  async cache() {
    for (const file of await cachedFiles()) {
      const handle = await file.createSyncAccessHandle();
      handle.read(new Uint8Array(handle.getSize()), { at: 0 });
      handle.close();
    }
  },
};

const LOAD = {
  server: ({ address }) => rw.model(address),
  file: ({ file }) => rw.model(file),
  cache: ({ address }) => rw.model(address, { cache: "browser" }),
};

expose({
  async open(build, given) {
    sources = given;
    rw = await load({ build });
    (await LOAD.cache(sources)).dispose(); // the first time, it is downloaded
  },

  async loaded(source, threads) {
    await rw.useThreads(threads);
    let model;
    const ms = await timed(async () => (model = await LOAD[source](sources)));
    model.dispose();
    return ms;
  },

  read: (source) => timed(() => READ[source](sources)),
});
