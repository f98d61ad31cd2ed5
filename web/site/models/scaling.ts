// RoPE overrides that take a model from its own scaling to another one.
import type { RopeOverrides } from "ropewalk";
import type { WorkerModel } from "ropewalk/worker";

/** Names of the scalings for readers. */
export const LABELS: Readonly<Record<string, string>> = {
  none: "none",
  linear: "PI",
  ntk: "NTK-aware",
  ntk_by_parts: "NTK-by-parts",
  yarn: "YaRN",
  dynamic_yarn: "dynamic YaRN",
};

/** Overrides for a context of `length` tokens. `auto` is the model's own RoPE up to its trained length, and YaRN beyond. */
export function overridesFor({ rope, info }: WorkerModel, scaling: string, length: number): RopeOverrides {
  const own = rope?.rope_scaling;
  if (scaling === "auto" && length <= info.trainedLength)
    return { rope_scaling: own == null || own.rope_type === "default" ? null : { ...own, replace: true } };
  if (scaling === "none") return { rope_scaling: null };
  const original = (own?.rope_type === "yarn" ? own.original_max_position_embeddings : undefined) ?? info.trainedLength;
  const factor = Math.max(1, length / original);
  const isByParts = !["linear", "ntk"].includes(scaling);
  const rope_type = (scaling === "auto" ? "yarn" : scaling) as "yarn" | "linear" | "ntk";
  return {
    rope_scaling: {
      rope_type,
      factor,
      ...(isByParts ? { original_max_position_embeddings: original } : {}),
      replace: true,
    },
  };
}

/** The layers whose RoPE the page changes: those that see the whole context, if they have one. */
export function layersToChange({ info }: WorkerModel): "full_attention" | "sliding_attention" {
  const isFull = info.layers.some(({ kind, rope }) => kind === "full_attention" && rope !== null);
  return isFull ? "full_attention" : "sliding_attention";
}
