// SentencePiece's own normalization: the longest prefixes in its map of characters, and ▁ for spaces (normalizer.cc of SentencePiece; the same
// in llm_tokenizer_ugm_session::normalize of llama.cpp).
import type { PrecompiledMap } from "./precompiled_map.js";

/** Options of the normalization, as GGUF files have them. */
export interface SentencePieceOptions {
  readonly map: PrecompiledMap | undefined;
  /** Whether a space is added before the text. */
  readonly prefix: boolean;
  /** Whether spaces in a row become one, and those at both ends of the text are left out. A text of spaces becomes empty. */
  readonly merges: boolean;
}

const utf8 = new TextEncoder();

/** Normalizes a text. @throws Error: the map is damaged */
export function normalizeForSentencePiece(text: string, { map, prefix, merges }: SentencePieceOptions): string {
  let result = "";
  let isInWord = false;
  let hasPrefix = false;
  for (const part of replace(text, map)) {
    for (const character of part) {
      if (character === " ") {
        isInWord = false;
        if (!merges) result += "▁";
        continue;
      }
      if (!isInWord && (merges || (prefix && !hasPrefix))) {
        result += "▁";
        hasPrefix = true;
      }
      isInWord = true;
      result += character;
    }
  }
  return result;
}

/** The parts of a text, each replaced by what the map has for it. */
function* replace(text: string, map: PrecompiledMap | undefined): Generator<string> {
  if (map === undefined) {
    yield text;
    return;
  }
  const bytes = utf8.encode(text);
  for (let at = 0, unit = 0; at < bytes.length;) {
    const prefix = map.prefixAt(bytes, at, bytes.length, "longest");
    const start = unit;
    const end = at + (prefix?.length ?? 1);
    // whole characters, as a damaged map may end inside of one
    while (at < end) {
      const lead = bytes[at]!;
      at += lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      unit += lead < 0xf0 ? 1 : 2;
    }
    yield prefix === undefined ? text.slice(start, unit) : prefix.replacement;
  }
}
