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
  streaming: { label: "StreamingLLM's shift", shift: true, rope: scaled("none").rope },
};

/** The overrides of a method. `max_position_embeddings` stays the trained length, which dynamic scalings read. */
export const ropeOf = (method, { multiple, trained, tuned }) => ({
  max_position_embeddings: trained,
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
