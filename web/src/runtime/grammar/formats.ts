// Tells which tokens may come next in a text of a format.
import { fail } from "../../core/base/errors.js";
import { messageOf } from "../../core/base/show.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { Automaton, DEAD, type Position } from "./automaton.js";
import { formatGrammar, type OutputFormat, withinStack } from "./format.js";
import { type Network, networkOf } from "./network.js";
import { NO_TOKEN, tokenTrie, type TokenTrie } from "./token_trie.js";
import { withLimitedWork } from "./work.js";

/** The most formats that are kept, and the most nodes of all of them. */
const MAX_FORMATS = 16;
const MAX_NODES = 2_000_000;
/** The most masks that a format keeps. One takes a bit for each token. */
const MAX_MASKS = 256;

/** A format that was used, with the masks of its states. Several texts may share it. @internal */
export class KnownFormat {
  readonly nodes: number;
  readonly automaton: Automaton;
  readonly #masks = new Map<number, Int32Array>();
  #generation: number;

  constructor(network: Network, maxStates?: number) {
    this.nodes = network.nodes.length;
    this.automaton = new Automaton(network, maxStates);
    this.#generation = this.automaton.generation;
  }

  /** The mask of a state, which `find` computes if it isn't known. */
  mask(state: number, find: () => Int32Array): Int32Array {
    if (this.#generation !== this.automaton.generation || this.#masks.size >= MAX_MASKS) this.#masks.clear();
    this.#generation = this.automaton.generation;
    const mask = this.#masks.get(state) ?? find();
    this.#masks.set(state, mask);
    return mask;
  }
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
    const known = this.#known.get(key) ?? new KnownFormat(networkOfFormat(format));
    this.#known.delete(key);
    this.#known.set(key, known);
    this.#forget();
    this.#trie ??= tokenTrie(this.#tokenizer, this.#size);
    return new FormatMatcher(known, this.#trie, this.#tokenizer, this.#size);
  }

  /** Forgets the formats that weren't used for the longest time, if all together are too large. */
  #forget(): void {
    let nodes = 0;
    for (const { nodes: more } of this.#known.values()) nodes += more;
    for (const [key, known] of this.#known) {
      if (this.#known.size <= 1 || (this.#known.size <= MAX_FORMATS && nodes <= MAX_NODES)) return;
      this.#known.delete(key);
      nodes -= known.nodes;
    }
  }
}

/** Follows one text. @internal */
export class FormatMatcher {
  readonly #format: KnownFormat;
  readonly #trie: TokenTrie;
  readonly #tokenizer: Tokenizer;
  readonly #size: number;
  #state: number;
  /** The same as the number of the state, for when another text made the automaton forget its states. */
  #position: Position;
  #generation: number;

  constructor(format: KnownFormat, trie: TokenTrie, tokenizer: Tokenizer, size: number) {
    this.#format = format;
    this.#trie = trie;
    this.#tokenizer = tokenizer;
    this.#size = size;
    this.#state = format.automaton.start();
    this.#position = format.automaton.position(this.#state);
    this.#generation = format.automaton.generation;
  }

  /** A bit for each token that may come next. An end token may come where the text is complete. */
  get allowed(): Int32Array {
    this.#renew();
    return this.#format.mask(this.#state, () => this.#findAllowed());
  }

  /** Whether the text is complete. */
  get canEnd(): boolean {
    return this.#position.canEnd;
  }

  /** Whether no token may come next: the text is complete and the vocabulary has no end token, or it lacks characters. */
  isStuck(): boolean {
    return this.allowed.every((bits) => bits === 0);
  }

  /** Reads a token that is allowed. */
  accept(token: number): void {
    const { automaton } = this.#format;
    this.#renew();
    automaton.startWork();
    for (const byte of this.#tokenizer.bytes(token)) this.#state = automaton.step(this.#state, byte);
    this.#position = automaton.position(this.#state);
    automaton.limitStates();
  }

  /** Finds the state's number in the present generation of the automaton. */
  #renew(): void {
    const { automaton } = this.#format;
    if (this.#generation === automaton.generation) return;
    this.#state = automaton.find(this.#position);
    this.#position = automaton.position(this.#state);
    this.#generation = automaton.generation;
  }

  /** Walks the tree of tokens. Below a byte that can't come, there is nothing to look at. */
  #findAllowed(): Int32Array {
    const { automaton } = this.#format;
    const { bytes, depths, ends, tokens, copies, deepest } = this.#trie;
    automaton.startWork();
    const mask = new Int32Array(Math.ceil(this.#size / 32));
    const path = new Int32Array(deepest + 1).fill(this.#state); // the state before each node on the way to this one
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

function networkOfFormat(format: OutputFormat): Network {
  return withLimitedWork("format", () => withinStack(() => networkOf(formatGrammar(format), "format")));
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
