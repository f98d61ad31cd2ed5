// Reads the tensors of a GGUF file that change its RoPE.
import type { GgufRopeTensors } from "../../../core/config/gguf.js";
import { fail } from "../../../core/base/errors.js";
import { fieldOf } from "../../files/errors.js";
import type { ModelFiles } from "../../files/model_files.js";
import { MAX_HEAD_DIM } from "./limits.js";

const ROPE_TENSORS = ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"] as const;

/** Reads the tensors of a GGUF file that contain RoPE factors: one for each pair, so they are short. @internal */
export async function readRopeTensors(files: ModelFiles, signal: AbortSignal | undefined): Promise<GgufRopeTensors> {
  const found = ROPE_TENSORS.map((name) => files.tensors.get(name)).filter((tensor) => tensor !== undefined);
  for (const { name, format, bytes } of found) {
    if (format !== "f32") fail("INVALID_FILE", fieldOf(files.name, name), `must be f32 (got ${format})`);
    if (bytes > 4 * MAX_HEAD_DIM)
      fail("INVALID_FILE", fieldOf(files.name, name), `must have at most ${MAX_HEAD_DIM} elements (got ${bytes / 4})`);
  }
  const bytes = new Map(found.map((tensor) => [tensor.name, new Uint8Array(tensor.bytes)]));
  await files.read(
    found,
    ({ name }, offset, chunk) => bytes.get(name)!.set(chunk, offset),
    signal === undefined ? {} : { signal },
  );
  return Object.fromEntries([...bytes].map(([name, data]) => [name, new Float32Array(data.buffer)]));
}
