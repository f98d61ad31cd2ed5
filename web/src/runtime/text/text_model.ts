// What the models of a tokenizer.json have in common: text between added tokens becomes ids.
import type { Encoding } from "./encoding_steps.js";
import type { SourceText } from "./components/source_text.js";

/** Normalizes texts and encodes them. */
export interface TextModel {
  normalize(source: SourceText): SourceText;
  /** The ids of a normalized text without added tokens. */
  encode(source: SourceText): Encoding;
}
