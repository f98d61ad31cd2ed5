// Tells which tokens may come next in a text of a format.
import { fail } from "../base/errors.js";
import { messageOf } from "../base/show.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { Automaton, DEAD } from "./automaton.js";
import { formatGrammar, type OutputFormat } from "./format.js";
import { networkOf } from "./network.js";
import { NO_TOKEN, tokenTrie, type TokenTrie } from "./token_trie.js";

/** The most formats that are kept. */
const MOST_FORMATS = 16;
/** The most masks that a format keeps. One takes a bit for each token. */
const MOST_MASKS = 256;

/** A format that was used, with the masks of its states. */
interface KnownFormat {
  readonly automaton: Automaton;
  readonly masks: Map<number, Int32Array>;
}

/** The formats of one vocabulary. @internal */
export class Formats {
  readonly #tokenizer: Tokenizer;
  readonly #size: number;
  #trie: TokenTrie | undefined;
  /** By format, the one that was used last at the end. */
  readonly #known = new Map<string, KnownFormat>();

  /** @param size - number of logits */
  constructor(tokenizer: Tokenizer, size: number) {
    this.#tokenizer = tokenizer;
    this.#size = size;
  }

  /**
   * A matcher at the start of a text.
   * @throws INVALID_ARGUMENT (format), UNSUPPORTED_MODEL (no tokenizer)
   */
  matcher(format: OutputFormat): FormatMatcher {
    const key = keyOf(format);
    const known = this.#known.get(key) ?? {
      automaton: new Automaton(networkOf(formatGrammar(format), "format")),
      masks: new Map<number, Int32Array>(),
    };
    this.#known.delete(key);
    this.#known.set(key, known);
    if (this.#known.size > MOST_FORMATS) this.#known.delete(this.#known.keys().next().value!);
    this.#trie ??= tokenTrie(this.#tokenizer, this.#size);
    return new FormatMatcher(known, this.#trie, this.#tokenizer, this.#size);
  }
}

/** Follows one text. @internal */
export class FormatMatcher {
  readonly #format: KnownFormat;
  readonly #trie: TokenTrie;
  readonly #tokenizer: Tokenizer;
  readonly #size: number;
  #state: number;

  constructor(format: KnownFormat, trie: TokenTrie, tokenizer: Tokenizer, size: number) {
    this.#format = format;
    this.#trie = trie;
    this.#tokenizer = tokenizer;
    this.#size = size;
    this.#state = format.automaton.start();
  }

  /** A bit for each token that may come next. An end token may come where the text is complete. */
  get allowed(): Int32Array {
    const { masks } = this.#format;
    const known = masks.get(this.#state);
    if (known !== undefined) return known;
    if (masks.size >= MOST_MASKS) masks.clear();
    const mask = this.#findAllowed();
    masks.set(this.#state, mask);
    return mask;
  }

  /** Whether no token may come next: the text is complete and the vocabulary has no end token, or it lacks characters. */
  isStuck(): boolean {
    return this.allowed.every((bits) => bits === 0);
  }

  /** Reads a token that is allowed. */
  accept(token: number): void {
    const { automaton, masks } = this.#format;
    for (const byte of this.#tokenizer.bytes(token)) this.#state = automaton.step(this.#state, byte);
    const renewed = automaton.renew(this.#state);
    if (renewed !== this.#state) masks.clear();
    this.#state = renewed;
  }

  /** Walks the tree of tokens. Below a byte that can't come, there is nothing to look at. */
  #findAllowed(): Int32Array {
    const { automaton } = this.#format;
    const { bytes, depths, ends, tokens, copies, deepest } = this.#trie;
    const mask = new Int32Array(Math.ceil(this.#size / 32));
    const path = new Int32Array(deepest + 1).fill(this.#state); // the state before each node on the way to the present one
    let { ways } = automaton;
    for (let node = 0; node < bytes.length;) {
      const byte = bytes[node]!;
      const depth = depths[node]!;
      const before = path[depth]!;
      let state = ways[(before << 8) | byte]!;
      if (state < 0) {
        state = automaton.step(before, byte);
        ({ ways } = automaton);
      }
      if (state === DEAD) {
        node = ends[node]!;
        continue;
      }
      path[depth + 1] = state;
      const token = tokens[node]!;
      if (token !== NO_TOKEN) mask[token >> 5]! |= 1 << (token & 31);
      node += 1;
    }
    for (const { token, of } of copies) if ((mask[of >> 5]! >> (of & 31)) & 1) mask[token >> 5]! |= 1 << (token & 31);
    const canEnd = automaton.canEnd(this.#state);
    for (const token of this.#tokenizer.endTokens) {
      if (canEnd) mask[token >> 5]! |= 1 << (token & 31);
      else mask[token >> 5]! &= ~(1 << (token & 31)); // it would end the text, even where its bytes could be a part of it
    }
    return mask;
  }
}

/** The same text for the same format. */
function keyOf(format: unknown): string {
  const plain = (_: string, value: unknown): unknown =>
    value instanceof RegExp ? { regex: value.source, flags: value.flags } : value;
  try {
    return JSON.stringify(format, plain);
  } catch (cause) {
    fail("INVALID_ARGUMENT", "format", `must be JSON: ${messageOf(cause)}`, { cause });
  }
}
