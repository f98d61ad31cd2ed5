// Special tokens: finds them in a text, and decides which ones end a generation.
import type { Vocabulary } from "./vocabulary.js";

/** Tokens that end a generation in every vocabulary that has them. */
const END_PIECES = [
  "<|eot_id|>",
  "<|im_end|>",
  "<|end|>",
  "<|return|>",
  "<|call|>",
  "<|flush|>",
  "<|calls|>",
  "<end_of_turn>",
  "<|endoftext|>",
  "</s>",
  "<|eom_id|>",
  "<EOT>",
  "_<EOT>",
  "[EOT]",
  "[EOS]",
  "<|end_of_text|>",
  "<end_of_utterance>",
  "<eos>",
  "<turn|>",
  "<|tool_response>",
  "<｜end▁of▁sentence｜>",
  "[e~[",
];

/**
 * All tokens that end a generation: those that the model names, in its order, then the added tokens listed above. llama.cpp has such a
 * list too, as files rarely name more than one.
 */
export function endTokensOf(vocabulary: Vocabulary, named: readonly number[]): number[] {
  const known = END_PIECES.map((piece) => vocabulary.idOf(piece)).filter(
    (id) => id !== undefined && vocabulary.isAdded(id),
  );
  const ends = new Set([...named, ...(known as number[])]);
  const has = (piece: string) => ends.has(vocabulary.idOf(piece) ?? -1);
  const remove = (piece: string) => {
    const id = vocabulary.idOf(piece);
    if (id !== undefined && !named.includes(id)) ends.delete(id);
  };
  // in these formats the token ends only a message, and the answer may continue with another message
  if ((has("<|return|>") && has("<|call|>")) || (has("<|flush|>") && has("<|calls|>"))) remove("<|end|>");
  if (has("<|tool_response>")) remove("</s>");
  return [...ends];
}

/** Finds added tokens in a text. */
export class AddedTokens {
  readonly #vocabulary: Vocabulary;
  /** By their first UTF-16 code unit, longest first. */
  readonly #byUnit = new Map<number, { piece: string; id: number }[]>();
  readonly #trimsAfter: ReadonlySet<number>;

  /** @param trimsAfter tokens that remove the whitespace after them */
  constructor(vocabulary: Vocabulary, trimsAfter: ReadonlySet<number>) {
    this.#vocabulary = vocabulary;
    this.#trimsAfter = trimsAfter;
    vocabulary.pieces.forEach((piece, id) => {
      if (piece === undefined || piece === "" || !vocabulary.isAdded(id)) return;
      const unit = piece.charCodeAt(0);
      const others = this.#byUnit.get(unit);
      if (others === undefined) this.#byUnit.set(unit, [{ piece, id }]);
      else others.push({ piece, id });
    });
    for (const tokens of this.#byUnit.values()) tokens.sort((a, b) => b.piece.length - a.piece.length);
  }

  /**
   * Splits a text into added tokens, as ids, and the text between them. The leftmost match wins, among several the longest.
   *
   * @param parseSpecial whether to find control tokens; user-defined tokens are always found
   */
  split(text: string, parseSpecial: boolean): (string | number)[] {
    const parts: (string | number)[] = [];
    let end = 0;
    for (let at = 0; at < text.length;) {
      const found = this.#byUnit
        .get(text.charCodeAt(at))
        ?.find(({ piece, id }) => (parseSpecial || !this.#vocabulary.isSpecial(id)) && text.startsWith(piece, at));
      if (found === undefined) {
        ++at;
        continue;
      }
      if (at > end) parts.push(text.slice(end, at));
      parts.push(found.id);
      at += found.piece.length;
      if (this.#trimsAfter.has(found.id)) while (/^\s/.test(text.charAt(at))) ++at;
      end = at;
    }
    if (end < text.length) parts.push(text.slice(end));
    return parts;
  }
}

/** Phi-3's special tokens remove the whitespace after them. Its files don't say so; like llama.cpp, we go by the model's name. */
export function trimmingTokens(vocabulary: Vocabulary, modelName: string): Set<number> {
  if (!/phi-?3/i.test(modelName)) return new Set();
  const keep = ["<unk>", "<s>", "<|endoftext|>"];
  const trims = (piece: string | undefined, id: number) =>
    piece !== undefined && vocabulary.isAdded(id) && !keep.includes(piece);
  return new Set(vocabulary.pieces.flatMap((piece, id) => (trims(piece, id) ? [id] : [])));
}
