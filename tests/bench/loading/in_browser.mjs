// Loading a model in a Worker of Chromium, compared with reading its bytes there: from a server on this machine, from a file that was chosen, and from
// the downloads that `cache: "browser"` has kept. Random models in several formats.
import { median } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";

const SHAPE = "smollm2-135m";
const TYPES = ["f16", "q8_0", "q4_0", "q4_k_m"];
const SOURCES = { server: "from a server", file: "from a chosen file", cache: "kept by the browser" };
const THREADS = [1, 2];
const ROUNDS = 15;

/** Opens the Worker with a model, and takes milliseconds round by round: for each source those of reading, and of loading with each number of threads. */
async function race(page, build, { path, address }) {
  const input = await page.$("input");
  await input.uploadFile(path);
  const open = (...args) => {
    const [file] = document.querySelector("input").files;
    return globalThis.openContender("it", "../loading/loading_worker.mjs", args[0], { address: args[1], file });
  };
  await page.evaluate(open, build, address);
  const call = (...args) => page.evaluate((...all) => globalThis.callContender("it", ...all), ...args);
  const times = Object.fromEntries(
    Object.keys(SOURCES).map((source) => [source, { read: [], loaded: THREADS.map(() => []) }]),
  );
  for (let round = -1; round < ROUNDS; round++)
    for (const [source, { read, loaded }] of Object.entries(times)) {
      const readMs = await call("read", source);
      const loadedMs = [];
      for (const threads of THREADS) loadedMs.push(await call("loaded", source, threads));
      if (round < 0) continue; // warms up
      read.push(readMs);
      loadedMs.forEach((ms, i) => loaded[i].push(ms));
    }
  await page.evaluate(() => globalThis.closeContender("it"));
  return times;
}

/** Returns lines with ratios. Their names have the milliseconds. */
export async function benchLoadingInBrowser(inPage, build) {
  const lines = [];
  for (const type of TYPES) {
    const file = await modelFile(SHAPE, type);
    const times = await inPage("loading/index.html", (page) => race(page, build, file));
    for (const [source, { read, loaded }] of Object.entries(times))
      for (const [i, threads] of THREADS.entries()) {
        const ms = `${median(loaded[i]).toFixed(0)} ms, reading ${median(read).toFixed(0)}`;
        lines.push({
          name: `${SHAPE} ${type}, ${SOURCES[source]}, ${threads === 1 ? "one thread" : `${threads} threads`} (${ms})`,
          value: median(loaded[i].map((time, round) => time / read[round])),
          unit: "×",
          target: 1.3,
          better: "less",
        });
      }
  }
  return lines;
}
