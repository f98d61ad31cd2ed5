// The model BPE of a tokenizer.json, as Hugging Face's Rust library has it.
import { show } from "../../../core/base/show.js";
import { isArray } from "../../../core/base/typed_arrays.js";
import type { Encoding, TextEncoding } from "../encoding_steps.js";
import { MergeTable } from "../merge_table.js";
import { pieceOfByte } from "../vocabulary.js";
import { invalid, type Options } from "./options.js";
import { TokenBound } from "./token_bound.js";
import { NoUnknownToken } from "./unknown_token.js";

const utf8 = new TextEncoder();

/** @throws INVALID_FILE, UNSUPPORTED_MODEL (tokenizer.json model) */
export function readBytePairs(options: Options, ids: ReadonlyMap<string, number>): TextEncoding {
  const dropout = options.value("dropout") ?? 0;
  if (dropout !== 0) options.wrong("dropout", "0 or null, as ids would be random", dropout);
  const prefix = options.text("continuing_subword_prefix", "");
  const table = readMerges(options, ids, utf8.encode(prefix).length);
  const { symbolsOf, mayLose } = symbolReader(options, ids, prefix);
  const bound = new TokenBound(() => ids.keys(), mayLose);
  const ignoresMerges = options.boolean("ignore_merges", false);
  return function* (word): Encoding {
    const whole = ignoresMerges ? ids.get(word) : undefined;
    if (whole !== undefined) {
      yield [whole];
      return;
    }
    yield bound.least(word);
    const symbols = Int32Array.from(symbolsOf(word));
    const count = yield* table.merge(symbols, new Int32Array(symbols.length), symbols.length);
    yield symbols.subarray(0, count);
  };
}

/** The prefix, of so many bytes, is left out of a token that is merged with one before it. */
function readMerges(options: Options, ids: ReadonlyMap<string, number>, prefixBytes: number): MergeTable {
  const merges = options.list("merges");
  const table = new MergeTable(merges.length);
  const idOf = (piece: string, rank: number): number =>
    ids.get(piece) ?? invalid("model.merges", `entry ${rank} uses ${show(piece)}, which is not a token`);
  merges.forEach((merge, rank) => {
    const pair: unknown = typeof merge === "string" ? merge.split(" ") : merge;
    if (!isArray(pair) || pair.length !== 2 || pair.some((piece) => typeof piece !== "string"))
      return invalid("model.merges", `must be pairs of tokens (got ${show(merge)} at index ${rank})`);
    const [left, right] = pair as [string, string];
    const rest = prefixBytes === 0 ? right : withoutStart(right, prefixBytes);
    table.set(rank, idOf(left, rank), idOf(right, rank), idOf(left + rest, rank), false);
  });
  return table;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function withoutStart(piece: string, bytes: number): string {
  try {
    return strict.decode(utf8.encode(piece).subarray(bytes));
  } catch {
    return invalid("model.merges", `must have continuing_subword_prefix before ${show(piece)}`);
  }
}

/** What the characters of a word are before any merge. */
function symbolReader(
  options: Options,
  ids: ReadonlyMap<string, number>,
  prefix: string,
): { symbolsOf: (word: string) => number[]; mayLose: (character: string) => boolean } {
  const suffix = options.text("end_of_word_suffix", "");
  const unknownToken = options.value("unk_token") === undefined ? undefined : options.text("unk_token");
  const fuses = options.boolean("fuse_unk", false);
  const hasBytes = options.boolean("byte_fallback", false);
  const unknown = (): number => {
    const id = ids.get(unknownToken!);
    if (id === undefined)
      throw new NoUnknownToken(
        "unk_token",
        `${show(unknownToken)} is not in the vocabulary, but a character has no token`,
      );
    return id;
  };
  const isPlain = prefix === "" && suffix === "";
  const mayLose = (character: string): boolean => {
    if (!isPlain) return true; // a character's tokens depend on its place
    if (ids.has(character) || (hasBytes && bytesOf(character) !== undefined)) return false;
    return unknownToken === undefined || fuses;
  };
  const symbolsOf = (word: string): number[] => {
    const symbols: number[] = [];
    // as in the Rust library, bytes of a character come before an unknown token that stands before it
    let pending: number | undefined;
    for (let start = 0, end = 0; start < word.length; start = end) {
      end = start + (word.codePointAt(start)! > 0xffff ? 2 : 1);
      let character = word.slice(start, end);
      if (prefix !== "" && start > 0) character = prefix + character;
      if (suffix !== "" && end === word.length) character += suffix;
      const id = ids.get(character);
      if (id !== undefined) {
        if (pending !== undefined) symbols.push(pending);
        pending = undefined;
        symbols.push(id);
        continue;
      }
      const bytes = hasBytes ? bytesOf(character) : undefined;
      if (bytes !== undefined) {
        for (const byte of bytes) symbols.push(byte);
      } else if (unknownToken !== undefined) {
        if (pending !== undefined && fuses) continue;
        if (pending !== undefined) symbols.push(pending);
        pending = unknown();
      }
    }
    if (pending !== undefined) symbols.push(pending);
    return symbols;
  };
  return { symbolsOf, mayLose };

  function bytesOf(text: string): number[] | undefined {
    const bytes = Array.from(utf8.encode(text), (byte) => ids.get(pieceOfByte(byte)));
    return bytes.includes(undefined) ? undefined : (bytes as number[]);
  }
}
