// The ways past the trained window that the arena compares, as overrides of a model's RoPE, and the caches that it compares them with.
import { scalings, searchedFor } from "../small_model/scalings.mjs";
import { TRAINED_LENGTH } from "../small_model/texts.mjs";

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

/** Factor of the fine-tunes of examples/small_model/tune_all.py. */
const TUNED = 4;

/**
 * A fine-tune, read under the scaling that it was made under at every length, and, beyond its factor, also under that of the length.
 * @param weights - name of the fine-tune: a method of train.py.
 * @param rope - `(factor) => overrides`.
 */
const fineTuned = (weights, label, rope) => {
  const common = { models: ["small-tuned"], weights };
  return {
    [`tuned_${weights}`]: { ...common, label: `${label}, fine-tuned × ${TUNED}`, rope: () => rope(TUNED) },
    [`grown_${weights}`]: {
      ...common,
      label: `${label}, fine-tuned × ${TUNED}, factor of the length`,
      sameUpTo: TUNED,
      rope: ({ factor }) => rope(factor),
    },
  };
};

const tunedUnder = (name) => (factor) => ({
  rope_theta: 10000, // transformers has NTK-aware only as a larger base
  rope_scaling: { ...scalings[name].scaling(factor), replace: true },
});

const searched = (factor) => searchedFor(factor * TRAINED_LENGTH);

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
 * `isPlainAt1` says that the method changes nothing at a factor of 1. `models`: names of the only models that it was made for. `weights`: name of
 * the fine-tune that it reads with, if not the model's own weights. `sameUpTo`: factor up to which the method before it is the same.
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
    rope: ({ factor }) => searched(factor),
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
  ...fineTuned("linear", "PI", tunedUnder("linear")),
  ...fineTuned("ntk", "NTK-aware", tunedUnder("ntk")),
  ...fineTuned("yarn", "YaRN", tunedUnder("yarn")),
  ...fineTuned("longrope", "longrope, searched", searched),
  tuned_drope: { label: `DroPE, fine-tuned × ${TUNED}`, models: ["small-tuned"], weights: "drope", rope: null },
};

/**
 * The overrides of a method, undefined if its weights have no RoPE. `max_position_embeddings` stays the trained length, which dynamic scalings read.
 */
export function ropeOf(method, { multiple, trained, tuned }) {
  const { rope } = methods[method];
  if (rope === null) return undefined;
  return {
    max_position_embeddings: trained,
    position_map: null, // of the method that a session had before
    ...rope({ factor: Math.max(tuned ?? 1, multiple), trained, tuned }),
  };
}

/** Names, and the option `kv` of `rw.model()`. */
export const caches = {
  f16: { dtype: "f16" },
  q8_0: { dtype: "q8_0" },
  q4_0: { dtype: "q4_0" },
  q4_0_raw: { dtype: "q4_0", keys: "raw" },
  q4_channel: { dtype: "q4_channel" },
};
