// Keys and values of a session as arrays.
import * as advise from "../../../core/base/advice.js";
import { read } from "../../../core/cache/read.js";
import type { KvCacheCore } from "../../../core/cache/core.js";
import { fail } from "../../../core/base/errors.js";
import { cacheLayers, type ModelPlan } from "../plan/model_plan.js";

/** Throws INVALID_ARGUMENT for a layer without attention. @internal */
export function checkAttends(plan: ModelPlan, layer: number): void {
  const { kind } = plan.layers[layer]!;
  if (!plan.shapes[layer]!.has_attention)
    fail(
      "INVALID_ARGUMENT",
      "layer",
      `layer ${layer} has no attention, so no keys: its kind is ${kind}`,
      advise.code("see model.info.layers"),
    );
}

/** For each key head of a layer, the keys or values of all tokens, [length, headDim]. @internal */
export function cachedRows(plan: ModelPlan, cache: KvCacheCore, layer: number, part: "k" | "v"): Float32Array[] {
  checkAttends(plan, layer);
  if (part === "v" && plan.config.latent.latent > 0)
    fail(
      "INVALID_ARGUMENT",
      "layer",
      "has no values of its own: this model computes them from the latents, which keys() returns",
    );
  const { keys_of } = plan.shapes[layer]!;
  const index = cacheLayers(plan).indexOf(keys_of < 0 ? layer : keys_of);
  const { kvHeads, headDim } = cache.layers[index]!;
  const rows = read(cache, { layer: index })[part];
  const length = rows.length / (kvHeads * headDim);
  return Array.from({ length: kvHeads }, (_, head) => {
    const own = new Float32Array(length * headDim);
    for (let token = 0; token < length; token++) {
      const from = (token * kvHeads + head) * headDim;
      own.set(rows.subarray(from, from + headDim), token * headDim);
    }
    return own;
  });
}
