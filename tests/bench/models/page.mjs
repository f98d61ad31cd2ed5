// Runs contenders in Workers of this page. race.mjs calls these functions.
import { wrap } from "/node_modules/comlink/dist/esm/comlink.mjs";

const contenders = new Map();

/** Starts a Worker and opens a model in it. */
globalThis.openContender = async (id, worker, source, options) => {
  const thread = new Worker(new URL(worker, import.meta.url), { type: "module" });
  const contender = wrap(thread);
  contenders.set(id, { thread, contender });
  const failure = new Promise((_, reject) => {
    thread.onerror = ({ message }) => reject(new Error(`${worker}: ${message ?? "can't be loaded"}`));
  });
  return Promise.race([contender.open(source, options), failure]);
};

globalThis.callContender = (id, method, ...args) => contenders.get(id).contender[method](...args);

globalThis.closeContender = (id) => {
  contenders.get(id)?.thread.terminate();
  contenders.delete(id);
};

globalThis.isReady = true;
