// Reads and checks the vocabulary in a tokenizer.json.
import { type Dict, isDict } from "../../core/base/dict.js";
import { show } from "../../core/base/show.js";
import { isArray } from "../../core/base/typed_arrays.js";
import { invalid, unsupported } from "./components/options.js";
import { kindOf } from "./json_model.js";
import type { Warn } from "./named_tokens.js";
import { LONGEST_ADDED_TOKEN } from "./special_tokens.js";
import { TOKEN_KINDS, Vocabulary } from "./vocabulary.js";

// far above any vocabulary: the largest have 262144 tokens
const MAX_TOKENS = 2 ** 22;

/** Characters of a Unigram token: a text has as many candidates at each character. SentencePiece trains up to 16. */
const LONGEST_UNIGRAM_TOKEN = 128;

/** A token that is looked for in a text before that is split into words. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  /** Found only where no letter, number or similar is next to it. */
  readonly singleWord: boolean;
  /** Takes the whitespace before and after it. */
  readonly stripsBefore: boolean;
  readonly stripsAfter: boolean;
  /** Looked for in normalized text, and normalized itself. */
  readonly normalized: boolean;
}

/** The tokens of a tokenizer.json. */
export interface JsonVocabulary {
  readonly vocabulary: Vocabulary;
  /** Ids of the model's tokens, without added ones. */
  readonly modelIds: ReadonlyMap<string, number>;
  readonly added: readonly AddedToken[];
}

/** Reads the tokens of the model, and `added_tokens`. @throws INVALID_FILE, UNSUPPORTED_MODEL */
export function readVocabulary(json: Dict, warn?: Warn): JsonVocabulary {
  const model = isDict(json["model"]) ? json["model"] : invalid("model", "must be an object");
  const pieces: (string | undefined)[] = [];
  const modelIds = new Map<string, number>();
  let size = 0;
  for (const [piece, id] of vocabularyEntries(model)) {
    if (typeof piece !== "string") return invalid("model.vocab", `tokens must be strings (got ${typeof piece})`);
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) >= MAX_TOKENS)
      invalid("model.vocab", `ids must be integers from 0 to ${MAX_TOKENS - 1} (${show(piece)} has ${show(id)})`);
    const taken = pieces[id as number];
    if (taken !== undefined)
      invalid("model.vocab", `ids must be unique (${show(taken)} and ${show(piece)} have ${show(id)})`);
    pieces[id as number] = piece;
    modelIds.set(piece, id as number);
    size += 1;
  }
  const added = readAddedTokens(json["added_tokens"], modelIds, size, warn);
  const ids = new Map(modelIds);
  const kinds = new Map<number, number>();
  for (const { id, content, special } of added) {
    pieces[id] = content;
    ids.set(content, id);
    kinds.set(id, special ? TOKEN_KINDS.control : TOKEN_KINDS.user_defined);
  }
  if (ids.size === 0) invalid("model.vocab", "must have at least one token");
  const all = Uint8Array.from(pieces, (piece, id) =>
    piece === undefined ? TOKEN_KINDS.unused : (kinds.get(id) ?? TOKEN_KINDS.normal),
  );
  return { vocabulary: new Vocabulary(pieces, all, ids), modelIds, added };
}

/** Reads an array; a missing key counts as an empty one. */
function listOf(value: unknown, part: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return isArray(value) ? value : invalid(part, `must be an array (got ${typeof value})`);
}

/** The entries [piece, id]. Unigram has an array of [piece, score], the other models ids by piece. */
function vocabularyEntries(model: Dict): [unknown, unknown][] {
  const { vocab } = model;
  if (kindOf(model) !== "Unigram")
    return isDict(vocab)
      ? Object.entries(vocab)
      : invalid("model.vocab", `must be an object with the ids of tokens (got ${show(vocab)})`);
  const entries: readonly unknown[] = isArray(vocab)
    ? vocab
    : invalid("model.vocab", `must be an array of tokens and scores (got ${show(vocab)})`);
  const wrong = entries.findIndex((entry) => !isArray(entry) || typeof entry[1] !== "number");
  if (wrong >= 0) invalid("model.vocab", `must be pairs of a token and its score (entry ${wrong} is not)`);
  const pieces = entries.map((entry) => (entry as unknown[])[0]);
  const long = pieces.find((piece) => typeof piece === "string" && piece.length > LONGEST_UNIGRAM_TOKEN);
  if (long !== undefined)
    invalid(
      "model.vocab",
      `tokens of Unigram must have at most ${LONGEST_UNIGRAM_TOKEN} characters (got ${show(long)})`,
    );
  return pieces.map((piece, id) => [piece, id]);
}

const FLAGS = ["single_word", "lstrip", "rstrip", "normalized", "special"] as const;

/**
 * Reads `added_tokens`. As in the Rust library, one that the model has too gets the model's id, and each other one the next id after the
 * model's tokens, whatever the file says. Of two with the same text the last counts, and it is special if one of them is.
 */
function readAddedTokens(
  value: unknown,
  modelIds: ReadonlyMap<string, number>,
  modelSize: number,
  warn?: Warn,
): AddedToken[] {
  const tokens = new Map<string, AddedToken>();
  let next = modelSize;
  for (const token of listOf(value, "added_tokens")) {
    if (!isDict(token)) return invalid("added_tokens", `must be an array of objects (got ${show(token)})`);
    const { content, id: written } = token;
    if (typeof content !== "string") return invalid("added_tokens", `tokens must be strings (got ${typeof content})`);
    if (content.length > LONGEST_ADDED_TOKEN)
      invalid("added_tokens", `texts must have at most ${LONGEST_ADDED_TOKEN} characters (got ${show(content)})`);
    const flags = FLAGS.map((flag) => token[flag] ?? undefined);
    const wrong = flags.findIndex((flag) => flag !== undefined && typeof flag !== "boolean");
    if (wrong >= 0) invalid("added_tokens", `${FLAGS[wrong]!} of ${show(content)} must be true or false`);
    const unknown = Object.keys(token).find((key) => ![...FLAGS, "content", "id"].includes(key));
    if (unknown !== undefined) unsupported("added_tokens", `${show(content)} has the unknown option ${show(unknown)}`);
    if (!Number.isInteger(written) || (written as number) < 0 || (written as number) >= MAX_TOKENS)
      invalid(
        "added_tokens",
        `ids must be integers from 0 to ${MAX_TOKENS - 1} (${show(content)} has ${show(written)})`,
      );
    if (content === "") continue;
    const [singleWord = false, stripsBefore = false, stripsAfter = false, , special = false] = flags as boolean[];
    const normalized = (flags[3] as boolean | undefined) ?? !special;
    const before = tokens.get(content);
    const id = before?.id ?? modelIds.get(content) ?? next++;
    if (id !== written)
      warn?.(
        `tokenizer.json: ${show(content)} has the id ${id}, not ${show(written)}, as in Hugging Face's tokenizers`,
      );
    tokens.set(content, {
      id,
      content,
      special: special || before?.special === true,
      singleWord,
      stripsBefore,
      stripsAfter,
      normalized,
    });
  }
  return [...tokens.values()];
}
