// Special tokens: finds them in a text, and decides which ones end a generation.
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import { TokenTree } from "./token_tree.js";
import type { Vocabulary } from "./vocabulary.js";

const utf8 = new TextEncoder();

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

/** Parts of a prompt to fill in the middle of a text, in the models that have them. */
const FILL_IN_PIECE =
  /^(?:<\|?(?:fim[-_](?:prefix|suffix|middle|pad|repo))\|?>|<｜fim▁(?:begin|hole|end)｜>|<\|(?:repo_name|file_sep)\|>)$/;

/**
 * Whether a token is a control token by its text. Some files call it user-defined, which would let a text that isn't trusted end an answer.
 * llama.cpp corrects them too.
 */
export function isControlName(piece: string): boolean {
  return END_PIECES.includes(piece) || FILL_IN_PIECE.test(piece);
}

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

/** Finds the added tokens of a GGUF file in a text, as llama.cpp does: the longest token first, wherever it is. */
export class AddedTokens {
  readonly #vocabulary: Vocabulary;
  readonly #tree = new TokenTree();
  readonly #trimsAfter: ReadonlySet<number>;

  /** @param trimsAfter tokens that remove the whitespace after them */
  constructor(vocabulary: Vocabulary, trimsAfter: ReadonlySet<number>) {
    this.#vocabulary = vocabulary;
    this.#trimsAfter = trimsAfter;
    vocabulary.pieces.forEach((piece, id) => {
      if (piece === undefined || piece === "" || !vocabulary.isAdded(id)) return;
      if (piece.length > LONGEST_ADDED_TOKEN) {
        fail(
          "INVALID_FILE",
          "tokenizer.ggml.tokens",
          `special tokens must have at most ${LONGEST_ADDED_TOKEN} characters (got ${show(piece)} with ${piece.length})`,
        );
      }
      this.#tree.add(piece, id);
    });
  }

  /**
   * Splits a text into added tokens, as ids, and the text between them.
   *
   * @param parseSpecial whether to find control tokens; user-defined tokens are always found
   */
  split(text: string, parseSpecial: boolean): (string | number)[] {
    const present = this.#tree.idsIn(text).filter((id) => parseSpecial || !this.#vocabulary.isSpecial(id));
    const bytes = new Map(present.map((id) => [id, utf8.encode(this.#vocabulary.pieceOf(id)).length]));
    present.sort((a, b) => bytes.get(b)! - bytes.get(a)! || a - b);
    let parts: (string | number)[] = text === "" ? [] : [text];
    for (const id of present)
      parts = parts.flatMap((part) => (typeof part === "number" ? [part] : this.#cut(part, id)));
    return parts;
  }

  #cut(text: string, id: number): (string | number)[] {
    const piece = this.#vocabulary.pieceOf(id);
    const parts: (string | number)[] = [];
    let end = 0;
    for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, end)) {
      if (at > end) parts.push(text.slice(end, at));
      parts.push(id);
      end = at + piece.length;
      if (this.#trimsAfter.has(id)) while (/^[\t-\r ]/.test(text.charAt(end))) ++end;
    }
    if (end < text.length) parts.push(text.slice(end));
    return parts;
  }
}

/** Phi-3's special tokens remove the ASCII whitespace after them. Its files don't say so; like llama.cpp, we go by the model's name. */
export function trimmingTokens(vocabulary: Vocabulary, modelName: string): Set<number> {
  if (!/phi-?3/i.test(modelName)) return new Set();
  const keep = ["<unk>", "<s>", "<|endoftext|>"];
  const trims = (piece: string | undefined, id: number) =>
    piece !== undefined && vocabulary.isAdded(id) && !keep.includes(piece);
  return new Set(vocabulary.pieces.flatMap((piece, id) => (trims(piece, id) ? [id] : [])));
}
