// The ways to stretch a context that are compared, as what `rw.model()` and `session.retune()` take.
import { TRAINED_LENGTH } from "./texts.mjs";

const original = { original_max_position_embeddings: TRAINED_LENGTH };

/** Name, and the scaling for a factor; the dynamic ones find theirs by the length as a text is read. */
export const scalings = {
  none: { label: "none", scaling: () => null },
  linear: { label: "PI", scaling: (factor) => ({ rope_type: "linear", factor }) },
  ntk: { label: "NTK-aware", scaling: (factor) => ({ rope_type: "ntk", factor }) },
  // with factor 1, the base follows length over trained length, as in the YaRN paper
  dynamic: { label: "dynamic NTK", scaling: () => ({ rope_type: "dynamic", factor: 1 }) },
  ntk_by_parts: { label: "NTK-by-parts", scaling: (factor) => ({ rope_type: "ntk_by_parts", factor, ...original }) },
  yarn: { label: "YaRN", scaling: (factor) => ({ rope_type: "yarn", factor, ...original }) },
  dynamic_yarn: {
    label: "dynamic YaRN",
    scaling: (factor, tuned) => ({
      rope_type: "dynamic_yarn",
      factor: tuned ?? factor,
      ...original,
      finetuned: tuned !== undefined,
    }),
  },
};

/**
 * Overrides that put a scaling in place of the model's own.
 * @param name - one of {@link scalings}.
 * @param length - tokens to be served; the factor is that over the trained length.
 * @param tuned - factor that the weights were fine-tuned for, below which theirs holds.
 */
export function overridesFor(name, length, tuned) {
  const scaling = scalings[name].scaling(factorFor(length, tuned), tuned);
  return { max_position_embeddings: TRAINED_LENGTH, rope_scaling: scaling && { ...scaling, replace: true } };
}

export const factorFor = (length, tuned = 1) => Math.max(tuned, length / TRAINED_LENGTH);
