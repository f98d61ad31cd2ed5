// A model in the module that measures stages, in Node.
import { readFile } from "node:fs/promises";
import { nodeFiles } from "../../../build/package/runtime/files/node_files.js";
import { modelFile } from "../models/model_file.mjs";
import { CONTEXT, tokensAt } from "../models/tokens.mjs";
import { benchRuntime } from "../run_benchmark.mjs";

/** The stages of src/base/profile.h, in its order. */
export const STAGES = [
  "embedding",
  "norms",
  "products: query, key, value",
  "rotation, append to the cache",
  "attention",
  "product: attention output",
  "products: gate, up",
  "activation",
  "product: down",
  "sum with the residual",
  "product: head",
];

/** The module, as scripts/bench.mjs builds it. */
export const profileLink = {
  preset: "wasm",
  folder: "profile",
  options: ["-DROPEWALK_PROFILE=ON"],
  targets: ["ropewalk_profile_relaxed"],
};

/**
 * Opens a model: `args` are options of the command line, `--file PATH`, or `--shape` and `--type` of a random model (smollm2-135m, q8_0).
 * Returns its name, a session, the wasm module, and `measure(act)`.
 */
export async function openProfile(args) {
  const option = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
  const shape = option("--shape", "smollm2-135m");
  const type = option("--type", "q8_0");
  const path = option("--file") ?? (await modelFile(shape, type)).path;
  const at = (name) => new URL(`../../../build/${profileLink.folder}/profile/relaxed/${name}`, import.meta.url);
  const { default: glue } = await import(at("ropewalk.mjs"));
  const wasm = await readFile(at("ropewalk.wasm"));
  const { rw, module } = await benchRuntime({ glue, wasm, build: "relaxed", files: { fetch, openPath: nodeFiles } });
  const model = await rw.model(path, { contextLength: CONTEXT });
  const session = model.session();
  if (module._profile_stage_count() !== STAGES.length) throw new Error("STAGES differs from src/base/profile.h");

  /** Brings the session to `length` tokens. */
  const goTo = async (length) => {
    if (session.length > length) session.rewind(length);
    else if (session.length < length) await session.append(tokensAt(session.length, length - session.length));
  };
  /** Runs `act` and returns milliseconds of the stages and of all. */
  const measure = async (act) => {
    module._profile_reset();
    const start = performance.now();
    await act();
    const ms = performance.now() - start;
    const address = module._profile_stages();
    return { ms, stages: [...new Float64Array(module.HEAPU8.buffer, address, STAGES.length)] };
  };
  return { name: option("--file", `${shape} ${type}`), model, session, module, goTo, measure };
}
