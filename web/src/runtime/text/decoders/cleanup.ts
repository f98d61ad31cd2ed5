// What the decoders WordPiece and CTC of Hugging Face's Rust library replace in the text of a token.

const CLEANED: readonly (readonly [string, string])[] = [
  ...[".", "?", "!", ","].map((mark) => [` ${mark}`, mark] as const),
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [" do not", " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
];

/** A text without spaces before punctuation and contractions. */
export function cleanUp(text: string): string {
  return CLEANED.reduce((cleaned, [from, to]) => cleaned.replaceAll(from, to), text);
}
