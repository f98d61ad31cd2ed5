// The model files of benchmarks.
import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { writeRandomModel } from "../random_model/random_model.mjs";

const root = join(import.meta.dirname, "..", "..", "..");

/** Writes a model with random weights, with this standard deviation, to build/models/, unless it is there. */
export async function modelFile(shape, type, deviation) {
  const name = `random-${shape}-${type}${deviation === undefined ? "" : `-${deviation}`}.gguf`;
  const folder = join(root, "build", "models");
  const path = join(folder, name);
  if (!existsSync(path)) {
    await mkdir(folder, { recursive: true });
    await writeRandomModel(`${path}.part`, shape, type, deviation);
    await rename(`${path}.part`, path);
  }
  return { path, address: `/build/models/${name}` };
}
