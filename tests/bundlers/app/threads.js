import { load } from "ropewalk";
import { load as loadInWorker } from "ropewalk/worker";
import { show } from "./show.js";

/** The number of threads that have started. load() fails if one can't. */
async function countThreads(load) {
  const rw = await load({ build: "simd", threads: 3 });
  return String(rw.threads);
}

show({ "in the page": countThreads(load), "in a worker": countThreads(loadInWorker) });
