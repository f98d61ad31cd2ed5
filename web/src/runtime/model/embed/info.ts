// What a model says of its vectors, and the scores that it gives.
import type { Pooling } from "../plan/embedding_plan.js";

/** How a model embeds texts: the defaults of `model.embed()`. */
export interface EmbeddingInfo {
  pooling: Pooling;
  /** Whether vectors are divided by their length. */
  normalize: boolean;
  /** Elements of a vector. */
  dimensions: number;
  /** Texts to write before others, by name. */
  prompts: Readonly<Record<string, string>>;
  /** Name of the prompt that is written unless the call names another. */
  defaultPrompt?: string;
  /** Whether the files say this: those of embedding models do. For others it is what the architecture suggests. */
  fromFiles: boolean;
}

/** A document and its score. */
export interface Ranked {
  /** Its place in the list of documents. */
  index: number;
  score: number;
}
