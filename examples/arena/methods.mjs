// The ways past the trained window that the arena compares, as overrides of a model's RoPE, and the caches that it compares them with.
import { scalings } from "../small_model/scalings.mjs";
import searched4 from "../small_model/searched/1024.json" with { type: "json" };
import searched16 from "../small_model/searched/4096.json" with { type: "json" };

/** A frequency plan of the small model's evaluation, for any trained length. */
const scaled = (name) => ({
  label: scalings[name].label,
  isPlainAt1: true,
  rope: ({ factor, trained, tuned }) => {
    const scaling = scalings[name].scaling(factor, tuned, trained);
    return { rope_scaling: scaling && { ...scaling, replace: true } };
  },
});

/** A position map, as its authors set it up where they say so. */
const mapped = (label, map) => ({ label, rope: (setup) => ({ rope_scaling: null, position_map: map(setup) }) });

/** The smallest group of Self-Extend whose largest distance stays below the trained length. */
function groupSize({ factor, trained }, window) {
  const length = Math.round(factor * trained);
  const largest = (group) => Math.floor((length - 1) / group) + window - Math.floor(window / group);
  let group = 1;
  while (largest(group) >= trained) group++;
  return group;
}

/**
 * Names, and the overrides of `rw.model(source, { rope })` as a function of `{ factor, trained, tuned }`: the length to reach as a multiple of the
 * trained length in tokens, and the factor that the weights were fine-tuned for, if any. `shift` reads through a window of the trained length.
 * `isPlainAt1` says that the method changes nothing at a factor of 1. `models`: names of the only models that it was made for.
 */
export const methods = {
  none: scaled("none"),
  pi: scaled("linear"),
  ntk: scaled("ntk"),
  dynamic_ntk: scaled("dynamic"),
  ntk_by_parts: scaled("ntk_by_parts"),
  yarn: scaled("yarn"),
  dynamic_yarn: scaled("dynamic_yarn"),
  searched: {
    label: "longrope, searched",
    models: ["small"],
    rope({ factor }) {
      const { rope_scaling, ...others } = factor <= 4 ? searched4 : searched16;
      return { ...others, rope_scaling: { ...rope_scaling, replace: true } };
    },
  },
  self_extend: mapped("Self-Extend", (setup) => {
    const window = setup.trained / 2;
    return { type: "self_extend", group_size: groupSize(setup, window), window };
  }),
  rerope: mapped("ReRoPE", ({ trained }) => ({ type: "rerope", window: trained / 2 })),
  dual_chunk: mapped("Dual Chunk Attention", ({ trained }) => ({
    type: "dual_chunk",
    chunk_size: (3 * trained) / 4,
    local_size: trained / 16,
  })),
  lm_infinite: mapped("LM-Infinite", ({ trained }) => ({ type: "lm_infinite", window: trained - 10, sink_tokens: 10 })),
  streaming: { label: "StreamingLLM's shift", shift: true, rope: scaled("none").rope },
};

/** The overrides of a method. `max_position_embeddings` stays the trained length, which dynamic scalings read. */
export const ropeOf = (method, { multiple, trained, tuned }) => ({
  max_position_embeddings: trained,
  position_map: null, // of the method that a session had before
  ...methods[method].rope({ factor: Math.max(tuned ?? 1, multiple), trained, tuned }),
});

/** Names, and the option `kv` of `rw.model()`. */
export const caches = {
  f16: { dtype: "f16" },
  q8_0: { dtype: "q8_0" },
  q4_0: { dtype: "q4_0" },
  q4_0_raw: { dtype: "q4_0", keys: "raw" },
  q4_channel: { dtype: "q4_channel" },
};
