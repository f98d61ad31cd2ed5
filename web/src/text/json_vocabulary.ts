// Reads and checks the vocabulary in a tokenizer.json.
import { type Dict, isDict } from "../base/dict.js";
import { show } from "../base/show.js";
import { isArray } from "../base/typed_arrays.js";
import { invalid, unsupported } from "./components/options.js";
import { byteOfPiece, TOKEN_KINDS, Vocabulary, type PieceFormat } from "./vocabulary.js";

// far above any vocabulary: the largest have 262144 tokens
const MAX_TOKENS = 2 ** 22;

/** Reads the tokens of the model, and `added_tokens`, which override them. @throws INVALID_FILE, UNSUPPORTED_MODEL */
export function readVocabulary(json: Dict): Vocabulary {
  const model = isDict(json["model"]) ? json["model"] : invalid("model", "must be an object");
  const pieces: (string | undefined)[] = [];
  const ids = new Map<string, number>();
  const kindOf = new Map<number, number>();
  const add = (piece: unknown, id: unknown, part: string) => {
    if (typeof piece !== "string") return invalid(part, `tokens must be strings (got ${typeof piece})`);
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) >= MAX_TOKENS) {
      return invalid(part, `ids must be integers from 0 to ${MAX_TOKENS - 1} (${show(piece)} has ${show(id)})`);
    }
    pieces[id as number] = piece;
    ids.set(piece, id as number);
    return id as number;
  };

  for (const [piece, id] of vocabularyEntries(model)) {
    const taken = typeof id === "number" ? pieces[id] : undefined;
    if (taken !== undefined)
      invalid("model.vocab", `ids must be unique (${show(taken)} and ${show(piece)} have ${show(id)})`);
    add(piece, id, "model.vocab");
  }
  const format = readPieceFormat(json);
  const readsBytes = stepsOf(json["decoder"]).some((step) => step["type"] === "ByteFallback");
  if (model["byte_fallback"] === true && readsBytes) {
    for (const [piece, id] of ids) if (byteOfPiece(piece) !== undefined) kindOf.set(id, TOKEN_KINDS.byte);
  }
  for (const token of listOf(json["added_tokens"], "added_tokens")) {
    if (!isDict(token)) invalid("added_tokens", `must be an array of objects (got ${show(token)})`);
    const id = add(token["content"], token["id"], "added_tokens");
    kindOf.set(id, token["special"] === true ? TOKEN_KINDS.control : TOKEN_KINDS.user_defined);
  }
  if (ids.size === 0) invalid("model.vocab", "must have at least one token");
  const kinds = new Uint8Array(pieces.length).fill(TOKEN_KINDS.normal);
  for (const [id, kind] of kindOf) kinds[id] = kind;
  checkMerges(model, ids);
  return new Vocabulary(pieces, kinds, ids, format);
}

/** Reads an array; a missing key counts as an empty one. */
function listOf(value: unknown, part: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return isArray(value) ? value : invalid(part, `must be an array (got ${typeof value})`);
}

/** The entries [piece, id]. BPE and WordPiece store ids by piece, Unigram an array of [piece, score]. */
export function vocabularyEntries(model: Dict): [unknown, unknown][] {
  const vocab = model["vocab"];
  if (isDict(vocab)) return Object.entries(vocab);
  const entries = listOf(vocab, "model.vocab");
  const wrong = entries.findIndex((entry) => !isArray(entry) || typeof entry[1] !== "number");
  if (wrong >= 0) invalid("model.vocab", `must be pairs of a token and its score (entry ${wrong} is not)`);
  return entries.map((entry, id) => [(entry as unknown[])[0], id]);
}

function checkMerges(model: Dict, ids: ReadonlyMap<string, number>): void {
  if (model["type"] !== undefined && model["type"] !== "BPE") return;
  const affixes = ["continuing_subword_prefix", "end_of_word_suffix"].some(
    (key) => typeof model[key] === "string" && model[key] !== "",
  );
  listOf(model["merges"], "model.merges").forEach((merge, i) => {
    const pair: unknown = typeof merge === "string" ? merge.split(" ") : merge;
    if (!isArray(pair) || pair.length !== 2 || pair.some((piece) => typeof piece !== "string")) {
      invalid("model.merges", `must be pairs of tokens (got ${show(merge)} at index ${i})`);
    }
    const [left, right] = pair as [string, string];
    const missing = (affixes ? [left, right] : [left, right, left + right]).find((piece) => !ids.has(piece));
    if (missing !== undefined) invalid("model.merges", `entry ${i} uses ${show(missing)}, which is not a token`);
  });
}

/** Derives the format of pieces from the decoder in tokenizer.json. */
function readPieceFormat(json: Dict): PieceFormat {
  const steps = stepsOf(json["decoder"]);
  const types = steps.map((step) => String(step["type"]));
  if (types.length === 1 && types[0] === "WordPiece") return wordPieceFormat(steps[0]!);
  const unknown = types.find(
    (type) => !["ByteLevel", "Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"].includes(type),
  );
  if (unknown !== undefined || types.length === 0) {
    unsupported(
      "decoder",
      `must be ByteLevel, WordPiece, Metaspace, or SentencePiece's steps Replace, ByteFallback, Fuse and Strip (got ${unknown ?? "none"})`,
    );
  }
  if (types.includes("ByteLevel")) return { encoding: "byte_level", spacePrefix: "never", formatsAdded: true };
  const strips = steps.some((step) => step["type"] === "Strip" && step["content"] === " " && Number(step["start"]) > 0);
  const metaspace = steps.find((step) => step["type"] === "Metaspace");
  const prepends =
    metaspace !== undefined && metaspace["prepend_scheme"] !== "never" && metaspace["add_prefix_space"] !== false;
  const spacePrefix = prepends ? "first_token" : strips ? "first" : "never";
  return { encoding: "metaspace", spacePrefix, formatsAdded: true };
}

function wordPieceFormat({ prefix = "##", cleanup = true }: Dict): PieceFormat {
  if (typeof prefix !== "string" || typeof cleanup !== "boolean")
    invalid("decoder", "the prefix of WordPiece must be a string, and cleanup true or false");
  const wordPiece = { continuing: prefix, cleans: cleanup };
  return { encoding: "word_piece", spacePrefix: "never", formatsAdded: true, wordPiece };
}

function stepsOf(decoder: unknown): Dict[] {
  if (!isDict(decoder)) return [];
  return decoder["type"] === "Sequence" ? listOf(decoder["decoders"], "decoder.decoders").flatMap(stepsOf) : [decoder];
}
