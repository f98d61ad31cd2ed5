// The normalizer Precompiled of a tokenizer.json: SentencePiece's map of characters, as the Rust library applies it.
import { messageOf } from "../../../core/base/show.js";
import { type Steps, TooManySteps } from "../pattern/matcher.js";
import { graphemesOf } from "./graphemes.js";
import type { Options } from "./options.js";
import { PrecompiledMap } from "./precompiled_map.js";
import type { Normalizer } from "./source_text.js";

const utf8 = new TextEncoder();

/** Bytes of the largest grapheme that is replaced as a whole. */
const LARGEST_GRAPHEME = 5;

/** Applies the map to each grapheme of few bytes, of which a prefix in the map is enough, and to the characters of any other. */
export function precompiled(options: Options, steps: Steps): Normalizer {
  const replacementOf = readMap(options);
  const ofCharacter = new Map<string, string | undefined>();
  const ofOne = (part: string): string | undefined => {
    if (ofCharacter.has(part)) return ofCharacter.get(part);
    const result = replacementOf(part);
    ofCharacter.set(part, result);
    return result;
  };
  return (source) => {
    let text = "";
    const start = new Start(source.text, source.first);
    const add = (part: string, replacement: string | undefined): void => {
      text += replacement ?? part;
      start.add(part, replacement ?? part);
    };
    for (const grapheme of graphemesOf(source.text)) {
      const isOne = grapheme.length === 1;
      const isShort = !isOne && grapheme.length <= LARGEST_GRAPHEME && utf8.encode(grapheme).length <= LARGEST_GRAPHEME;
      const whole = isShort ? replacementOf(grapheme) : undefined;
      if (whole !== undefined) add(grapheme, whole);
      else if (isOne) add(grapheme, ofOne(grapheme));
      else for (const part of grapheme) add(part, ofOne(part));
      if (text.length > steps.longest) throw new TooManySteps("a normalizer makes the text too long");
    }
    return { text, first: start.first };
  };
}

function readMap(options: Options): (part: string) => string | undefined {
  const encoded = options.text("precompiled_charsmap");
  try {
    const map = new PrecompiledMap(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)));
    return (part) => {
      const bytes = utf8.encode(part);
      return map.prefixAt(bytes, 0, bytes.length, "shortest")?.replacement;
    };
  } catch (error) {
    return options.wrong("precompiled_charsmap", `a map of characters in base64: it ${messageOf(error)}`, encoded);
  }
}

/**
 * Counts what stands for the first character. The Rust library counts characters: of a longer replacement the last ones are new, of a shorter
 * one the last stands for the rest, and one of nothing is forgotten where nothing is before it, so that others stand for its characters.
 */
class Start {
  first = 0;
  /** Characters of the text that stand for the first one. */
  readonly #limit: number;
  /** Characters of the text that are used up. */
  #used = 0;
  #hasAny = false;

  constructor(text: string, first: number) {
    this.#limit = Array.from(text.slice(0, first)).length;
  }

  add(part: string, replacement: string): void {
    if (this.#used > this.#limit || this.#limit === 0) return;
    const replaced = Array.from(part).length;
    const made = Array.from(replacement);
    made.forEach((character, i) => {
      const isNew = i >= replaced;
      const at = isNew ? this.#used - 1 : this.#used;
      if (at < this.#limit) this.first += character.length;
      if (!isNew) this.#used += 1;
      this.#hasAny = true;
    });
    if (made.length < replaced && this.#hasAny) this.#used += replaced - made.length;
  }
}
