// Text on its way through the components of a tokenizer.json, with what one of them asks for about the text that was given.

/** A text, and how much of its start stands for the start of the whole text. */
export interface SourceText {
  readonly text: string;
  /**
   * UTF-16 code units at the start of the text that stand for the first character of the whole text. More than that character's where it was
   * replaced by a longer text, and 0 where the text starts later. Metaspace asks for it, for its prepend_scheme "first".
   */
  readonly first: number;
}

/** Changes a text before it is split into words. */
export type Normalizer = (source: SourceText) => SourceText;

/** A function of texts that changes each character by itself. */
export function byCharacter(change: (text: string) => string): Normalizer {
  return ({ text, first }) => ({ text: change(text), first: first === 0 ? 0 : change(text.slice(0, first)).length });
}

/** What part of a text stands for the first character. */
export function firstOf(first: number, start: number, end: number): number {
  return Math.max(0, Math.min(first, end) - start);
}
