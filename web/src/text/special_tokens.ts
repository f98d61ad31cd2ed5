// Special tokens: finds them in a text, and decides which ones end a generation.
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import type { Vocabulary } from "./vocabulary.js";

/** UTF-16 code units of an added token that is looked for in a text: each one of the text is compared with as many. */
export const LONGEST_ADDED_TOKEN = 256;

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

/** A step into the pieces of added tokens: the piece that ends here, and the next UTF-16 code units. */
interface Branch {
  id?: number;
  next: Map<number, Branch>;
}

const newBranch = (): Branch => ({ next: new Map() });

/** Finds added tokens in a text. */
export class AddedTokens {
  readonly #vocabulary: Vocabulary;
  /** A tree, because a damaged file may have a million tokens that begin alike. */
  readonly #root = newBranch();
  readonly #trimsAfter: ReadonlySet<number>;

  /** @param trimsAfter tokens that remove the whitespace after them */
  constructor(vocabulary: Vocabulary, trimsAfter: ReadonlySet<number>) {
    this.#vocabulary = vocabulary;
    this.#trimsAfter = trimsAfter;
    vocabulary.pieces.forEach((piece, id) => {
      if (piece !== undefined && vocabulary.isAdded(id)) this.#add(piece, id);
    });
  }

  #add(piece: string, id: number): void {
    if (piece.length > LONGEST_ADDED_TOKEN) {
      fail(
        "INVALID_FILE",
        "tokenizer.ggml.tokens",
        `special tokens must have at most ${LONGEST_ADDED_TOKEN} characters (got ${show(piece)} with ${piece.length})`,
      );
    }
    if (piece === "") return;
    let branch = this.#root;
    for (let i = 0; i < piece.length; i++) {
      const unit = piece.charCodeAt(i);
      let next = branch.next.get(unit);
      if (next === undefined) branch.next.set(unit, (next = newBranch()));
      branch = next;
    }
    branch.id ??= id;
  }

  /** The longest token at a position of the text, with its end. */
  #find(text: string, at: number, parseSpecial: boolean): { id: number; end: number } | undefined {
    let found: { id: number; end: number } | undefined;
    let branch: Branch | undefined = this.#root;
    for (let end = at; branch !== undefined; end++) {
      const { id } = branch;
      if (id !== undefined && (parseSpecial || !this.#vocabulary.isSpecial(id))) found = { id, end };
      branch = end < text.length ? branch.next.get(text.charCodeAt(end)) : undefined;
    }
    return found;
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
      const found = this.#find(text, at, parseSpecial);
      if (found === undefined) {
        ++at;
        continue;
      }
      if (at > end) parts.push(text.slice(end, at));
      parts.push(found.id);
      at = found.end;
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
