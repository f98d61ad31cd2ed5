// What `rw.modelInfo()` and `model.info` say of a model.
import type { HubChoice, StoredTensor } from "../files/model_files.js";
import type { EmbeddingInfo } from "./embed/info.js";
import type { ModelLayer } from "./plan/model_plan.js";
import type { ModelMemory } from "./run/memory.js";

/** Description of a model. It's read from headers, without loading weights. */
export interface ModelInfo {
  /** Name of its file. */
  name: string;
  /** What was chosen, if the model was opened by its name on the Hub. */
  hub?: HubChoice;
  /** `gguf` or `safetensors`. */
  kind: "gguf" | "safetensors";
  /** Architecture as the file names it, such as `llama`. */
  architecture: string;
  /** Number of weights. */
  parameters: number;
  /** Bytes of the file by weight format, largest first. */
  formats: Partial<Record<StoredTensor["format"], number>>;
  /** Bytes of the matrices in memory by weight format, largest first. The option `quantize` changes it. */
  loadedFormats: Partial<Record<StoredTensor["format"], number>>;
  vocabularySize: number;
  hiddenSize: number;
  /** Context length the model was trained for, from its config. */
  trainedLength: number;
  /** Maximum tokens of a session, unless the session sets its own. */
  contextLength: number;
  /** Whether it generates text: encoders and other models that only embed don't, and have no sessions. */
  generates: boolean;
  /** Why it generates no text, if it doesn't, as the end of a sentence. */
  noText?: string;
  /** Whether it scores pairs of texts, as cross-encoders do. */
  ranks: boolean;
  /** Whether it is a decision checkpoint: an encoder with a head that `decide()` reads. Chat models decide without one. */
  decides: boolean;
  /** How it embeds texts. */
  embedding: EmbeddingInfo;
  /** Layers, first to last. */
  layers: readonly ModelLayer[];
  /** Wasm memory it needs. */
  memory: ModelMemory;
}
