// What tokenizers of different kinds have in common: text between added tokens becomes ids.

/** Normalizes texts and encodes them. */
export interface TextModel {
  normalize(text: string): string;
  /**
   * The ids of a normalized text without added tokens.
   *
   * @param isFirst whether it starts where the whole text does
   */
  encode(text: string, isFirst: boolean): readonly number[];
}
