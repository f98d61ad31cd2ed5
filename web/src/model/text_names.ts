import type { ModelFiles } from "../files/model_files.js";

/** How the files of a model name the tensors of its text model. @internal */
export interface TextNames {
  /** A tensor's name in these files, from that in the files of a text model alone. */
  readonly nameOf: (name: string) => string;
  /** Whether a tensor is of a part that text has no use for. */
  readonly isOther: (name: string) => boolean;
}

const ALONE: TextNames = { nameOf: (name) => name, isOther: () => false };

/** In models that also see or hear: as most are released, as transformers 5 holds them in memory, and SmolVLM. */
const WITHIN: readonly TextNames["nameOf"][] = [
  (name) => `language_model.${name}`,
  (name) => name.replace(/^model\./, "model.language_model."),
  (name) => name.replace(/^model\./, "model.text_model."),
];

/** What such models have besides. */
const OTHER_PARTS =
  /^(model\.)?(vision_tower|vision_model|visual|audio_tower|multi_modal_projector|connector|image_newline)(\.|$)/;

/**
 * Finds the text model in the files of transformers.
 * @param embedding - name of the embedding in the files of a text model alone.
 * @internal
 */
export function textNames({ kind, tensors }: ModelFiles, embedding: string): TextNames {
  if (kind === "gguf" || tensors.has(embedding)) return ALONE;
  const nameOf = WITHIN.find((naming) => tensors.has(naming(embedding)));
  return nameOf === undefined ? ALONE : { nameOf, isOther: (name) => OTHER_PARTS.test(name) };
}
