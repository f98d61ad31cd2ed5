import { RopewalkError } from "../base/errors.js";
import { byteOfPiece, TOKEN_KINDS, Vocabulary, type Spelling } from "./vocabulary.js";

/** A parsed JSON object: nothing about its values is known yet. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Raises INVALID_FILE for a part of tokenizer.json. */
export function refuse(part: string, message: string): never {
  throw new RopewalkError(
    "INVALID_FILE",
    `tokenizer.json ${part}`.trimEnd(),
    `${message}; the file is damaged, or no tokenizer.json`,
  );
}

// far above any vocabulary: the largest have 262144
const MOST_TOKENS = 2 ** 22;

/** Tokens of a tokenizer.json: those of its model, and `added_tokens` over them. @throws INVALID_FILE, UNSUPPORTED_MODEL */
export function readVocabulary(json: Json): Vocabulary {
  const model = isObject(json["model"]) ? json["model"] : refuse("model", "must be an object");
  const pieces: (string | undefined)[] = [];
  const ids = new Map<string, number>();
  const kindOf = new Map<number, number>();
  const add = (piece: unknown, id: unknown, part: string) => {
    if (typeof piece !== "string") return refuse(part, "must have strings as tokens");
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) >= MOST_TOKENS) {
      return refuse(
        part,
        `must have integers from 0 to ${MOST_TOKENS - 1} as ids (${JSON.stringify(piece)} has ${String(id)})`,
      );
    }
    pieces[id as number] = piece;
    ids.set(piece, id as number);
    return id as number;
  };

  for (const [piece, id] of vocabularyEntries(model)) {
    const taken = typeof id === "number" ? pieces[id] : undefined;
    if (taken !== undefined)
      refuse("model.vocab", `gives id ${String(id)} to ${JSON.stringify(taken)} and to ${JSON.stringify(piece)}`);
    add(piece, id, "model.vocab");
  }
  const spelling = readSpelling(json);
  if (model["byte_fallback"] === true) {
    for (const [piece, id] of ids) if (byteOfPiece(piece) !== undefined) kindOf.set(id, TOKEN_KINDS.byte);
  }
  for (const token of listOf(json["added_tokens"], "added_tokens")) {
    if (!isObject(token)) refuse("added_tokens", "must be objects");
    const id = add(token["content"], token["id"], "added_tokens");
    kindOf.set(id, token["special"] === true ? TOKEN_KINDS.control : TOKEN_KINDS.user_defined);
  }
  if (ids.size === 0) refuse("model.vocab", "must have a token at least");
  const kinds = new Uint8Array(pieces.length).fill(TOKEN_KINDS.normal);
  for (const [id, kind] of kindOf) kinds[id] = kind;
  checkMerges(model, ids);
  return new Vocabulary(pieces, kinds, ids, spelling);
}

/** An array, or none where the key is absent. */
function listOf(value: unknown, part: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : refuse(part, "must be an array");
}

/** BPE and WordPiece list ids by piece, Unigram pieces with scores by id. */
function vocabularyEntries(model: Json): [unknown, unknown][] {
  const vocab = model["vocab"];
  if (isObject(vocab)) return Object.entries(vocab);
  const entries = listOf(vocab, "model.vocab");
  const wrong = entries.findIndex((entry) => !Array.isArray(entry) || typeof entry[1] !== "number");
  if (wrong >= 0) refuse("model.vocab", `must be pairs of a token and its score (number ${wrong} is none)`);
  return entries.map((entry, id) => [(entry as unknown[])[0], id]);
}

function checkMerges(model: Json, ids: ReadonlyMap<string, number>): void {
  if (model["type"] !== undefined && model["type"] !== "BPE") return;
  const affixes = ["continuing_subword_prefix", "end_of_word_suffix"].some(
    (key) => typeof model[key] === "string" && model[key] !== "",
  );
  listOf(model["merges"], "model.merges").forEach((merge, i) => {
    const pair: unknown = typeof merge === "string" ? merge.split(" ") : merge;
    if (!Array.isArray(pair) || pair.length !== 2 || pair.some((piece) => typeof piece !== "string")) {
      refuse("model.merges", `must be pairs of tokens (number ${i} is ${JSON.stringify(merge)})`);
    }
    const [left, right] = pair as [string, string];
    const missing = (affixes ? [left, right] : [left, right, left + right]).find((piece) => !ids.has(piece));
    if (missing !== undefined)
      refuse("model.merges", `number ${i} names ${JSON.stringify(missing)}, which is no token`);
  });
}

/** What the decoder of a tokenizer.json says about pieces. */
function readSpelling(json: Json): Spelling {
  const steps = stepsOf(json["decoder"]);
  const types = steps.map((step) => String(step["type"]));
  const unknown = types.find(
    (type) => !["ByteLevel", "Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"].includes(type),
  );
  if (unknown !== undefined || types.length === 0) {
    throw new RopewalkError(
      "UNSUPPORTED_MODEL",
      "tokenizer.json decoder",
      `${unknown ?? "none"} is a decoder that this package does not have; it has ByteLevel, Metaspace ` +
        "and SentencePiece's (Replace, ByteFallback, Strip)",
    );
  }
  if (types.includes("ByteLevel")) return { alphabet: "byte_level", added_space: "never" };
  const strips = steps.some((step) => step["type"] === "Strip" && step["content"] === " " && Number(step["start"]) > 0);
  const metaspace = steps.find((step) => step["type"] === "Metaspace");
  const prepends =
    metaspace !== undefined && metaspace["prepend_scheme"] !== "never" && metaspace["add_prefix_space"] !== false;
  return { alphabet: "metaspace", added_space: strips || prepends ? "first" : "never" };
}

function stepsOf(decoder: unknown): Json[] {
  if (!isObject(decoder)) return [];
  return decoder["type"] === "Sequence" ? listOf(decoder["decoders"], "decoder.decoders").flatMap(stepsOf) : [decoder];
}
