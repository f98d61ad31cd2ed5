// What an answer consists of.

/** A part of an answer. A call is its name, its arguments in any number of pieces, and its end. A call that is cut may have no arguments. */
export type AnswerPart =
  | { readonly content: string }
  | { readonly reasoning: string }
  /** A call of the function with this name begins. */
  | { readonly call: string }
  /** More of the call's arguments, which are JSON. */
  | { readonly arguments: string }
  | { readonly isCallEnd: true };

/** What the text read last belongs to. Undecided: it is the beginning of a call, or content that looks like it. */
export type Place = "content" | "reasoning" | "call" | "undecided";

/** Splits an answer. */
export interface AnswerReader {
  /**
   * Adds text, and returns the parts that it completes. Text that may be the beginning of a marker waits.
   * @param text - in which control tokens are marked
   */
  push(text: string): AnswerPart[];
  /**
   * The parts at the end.
   * @param isCut - whether the model would have written more: then a call that isn't whole is no text
   */
  end(isCut: boolean): AnswerPart[];
  readonly place: Place;
}
