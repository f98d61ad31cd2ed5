// The scalings that the evaluation compares, as overrides for `rw.model()` and `session.retune()`.
import searched4 from "./searched/1024.json" with { type: "json" };
import searched16 from "./searched/4096.json" with { type: "json" };
import { TRAINED_LENGTH } from "./texts.mjs";

const original = (trained = TRAINED_LENGTH) => ({ original_max_position_embeddings: trained });

/**
 * Names, and the scaling as a function of the factor, of the factor that the weights were fine-tuned for, if any, and of the trained length (256).
 * Dynamic ones derive the factor from the length while reading.
 */
export const scalings = {
  none: { label: "none", scaling: () => null },
  linear: { label: "PI", scaling: (factor) => ({ rope_type: "linear", factor }) },
  ntk: { label: "NTK-aware", scaling: (factor) => ({ rope_type: "ntk", factor }) },
  // with factor 1, the base follows length over trained length, as in the YaRN paper
  dynamic: { label: "dynamic NTK", scaling: () => ({ rope_type: "dynamic", factor: 1 }) },
  ntk_by_parts: {
    label: "NTK-by-parts",
    scaling: (factor, _, trained) => ({ rope_type: "ntk_by_parts", factor, ...original(trained) }),
  },
  yarn: { label: "YaRN", scaling: (factor, _, trained) => ({ rope_type: "yarn", factor, ...original(trained) }) },
  dynamic_yarn: {
    label: "dynamic YaRN",
    scaling: (factor, tuned, trained) => ({
      rope_type: "dynamic_yarn",
      factor: tuned ?? factor,
      ...original(trained),
      finetuned: tuned !== undefined,
    }),
  },
};

/**
 * Overrides that replace the model's own scaling.
 * @param name - one of {@link scalings}.
 * @param length - context length in tokens; the factor is this divided by the trained length.
 * @param tuned - factor that the weights were fine-tuned for. It is also the smallest factor used.
 */
export function overridesFor(name, length, tuned) {
  const scaling = scalings[name].scaling(factorFor(length, tuned), tuned);
  return { max_position_embeddings: TRAINED_LENGTH, rope_scaling: scaling && { ...scaling, replace: true } };
}

/** Overrides with the shortest scaling that `ropewalk search` found for a length or more: one for 4 times the trained length, one for 16. */
export function searchedFor(length) {
  const { rope_scaling, ...others } = length <= 4 * TRAINED_LENGTH ? searched4 : searched16;
  return { ...others, rope_scaling: { ...rope_scaling, replace: true } };
}

export const factorFor = (length, tuned = 1) => Math.max(tuned, length / TRAINED_LENGTH);
