// Finds the text model in files that name its tensors differently: those of multimodal models (vision, audio), and of
// models with or without a head.
import type { ModelFiles } from "../../../files/model_files.js";
import type { TensorNames } from "./tensor_names.js";

/** How a model's files name the tensors of its text model. @internal */
export interface TextModelNames {
  /** Name of a tensor in these files, given its name in a text-only model. */
  readonly nameOf: (name: string) => string;
  /** Whether a tensor belongs to a part that text doesn't need, such as a vision tower. */
  readonly isOther: (name: string) => boolean;
}

const TEXT_ONLY: TextModelNames = { nameOf: (name) => name, isOther: () => false };

/** Naming schemes of multimodal models: most released files, the in-memory names of transformers 5, and SmolVLM. */
const NAMING_SCHEMES: readonly TextModelNames["nameOf"][] = [
  (name) => `language_model.${name}`,
  (name) => name.replace(/^model\./, "model.language_model."),
  (name) => name.replace(/^model\./, "model.text_model."),
  (name) => name.replace(/^model\./, "language_model."),
  (name) => name.replace(/^(model|transformer)\./, ""), // saved without a head, as embedding models are
];

/**
 * Tensors of the other parts of such models: their first name. Source: the modules beside `language_model` or `text_model`
 * in the classes of transformers 5.24.
 */
const OTHER_PARTS = new RegExp(
  `^(model\\.)?(${[
    "(vision|visual|image|video|audio|speech|acoustic|semantic|high_res_vision)(_\\w+)?",
    "embed_(vision|audio)|perception_emb_norm",
    "(\\w+_)?(projector|projectors|projection|connector|aligner|merger|resampler|resampler_model)",
    "encoder|view_separator|qformer|query_tokens|vqmodel|generation_(embeddings|head)|word_timestamp_encoder",
  ].join("|")})(\\.|$)`,
);

/**
 * Finds the naming scheme of a model in transformers format.
 * @param embedding - name of the embedding tensor in a text-only model
 * @internal
 */
export function textModelNames(
  { kind, tensors, config }: Pick<ModelFiles, "kind" | "tensors" | "config">,
  embedding: string,
  { prefixes = [], others }: Pick<TensorNames, "prefixes" | "others"> = {},
): TextModelNames {
  if (kind === "gguf") return TEXT_ONLY;
  if (prefixes.length > 0 || others !== undefined) {
    const prefix = ["", ...prefixes].find((start) => tensors.has(start + embedding)) ?? "";
    return { nameOf: (name) => prefix + name, isOther: (name) => others?.test(name) ?? false };
  }
  const isOther = (name: string): boolean => OTHER_PARTS.test(name);
  // Qwen2-VL's text model is named as if it were the only one
  const hasOthers = config?.["vision_config"] !== undefined || config?.["audio_config"] !== undefined;
  if (tensors.has(embedding)) return hasOthers ? { ...TEXT_ONLY, isOther } : TEXT_ONLY;
  const nameOf = NAMING_SCHEMES.find((scheme) => tensors.has(scheme(embedding)));
  return nameOf === undefined ? TEXT_ONLY : { nameOf, isOther };
}
