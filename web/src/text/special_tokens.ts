import type { Vocabulary } from "./vocabulary.js";

/** Texts of tokens that end a generation wherever a vocabulary has them as tokens. */
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
 * All tokens that end a generation: those that the model names, in its order, and the added tokens known by their text.
 * llama.cpp keeps such a list too, since files seldom name more than one.
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
  // in these formats the mark only ends a message, and the answer may go on with the next one
  if ((has("<|return|>") && has("<|call|>")) || (has("<|flush|>") && has("<|calls|>"))) remove("<|end|>");
  if (has("<|tool_response>")) remove("</s>");
  return [...ends];
}

/** Finds the added tokens that are written in a text. */
export class AddedTokens {
  readonly #vocabulary: Vocabulary;
  /** By the first UTF-16 unit; the longest first. */
  readonly #byUnit = new Map<number, { piece: string; id: number }[]>();
  readonly #trimsAfter: ReadonlySet<number>;

  /** @param trimsAfter tokens that take the white space that follows them */
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
   * Cuts a text into added tokens, by id, and the text between them; the leftmost comes first, of several the longest.
   *
   * @param parseSpecial also find control tokens; user-defined ones always are
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

/** Phi-3's files do not say that its marks take the white space after them; llama.cpp knows it by the model's name, and so do we. */
export function trimmingTokens(vocabulary: Vocabulary, modelName: string): Set<number> {
  if (!/phi-?3/i.test(modelName)) return new Set();
  const keep = ["<unk>", "<s>", "<|endoftext|>"];
  const trims = (piece: string | undefined, id: number) =>
    piece !== undefined && vocabulary.isAdded(id) && !keep.includes(piece);
  return new Set(vocabulary.pieces.flatMap((piece, id) => (trims(piece, id) ? [id] : [])));
}
