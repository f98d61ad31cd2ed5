// The tokens of a vocabulary as a tree of their bytes, written as arrays in the order in which a walk visits the nodes.
import type { Tokenizer } from "../text/tokenizer.js";

/** The nodes of the tree. The root isn't one of them. */
export interface TokenTrie {
  /** The byte of each node. */
  readonly bytes: Uint8Array;
  /** How many nodes are above each node. */
  readonly depths: Uint16Array;
  /** The node after the last one below each node. */
  readonly ends: Int32Array;
  /** The token whose bytes end at each node, or {@link NO_TOKEN}. */
  readonly tokens: Int32Array;
  /** Tokens with the bytes of another one, which `tokens` has. */
  readonly copies: readonly { readonly token: number; readonly of: number }[];
  /** The largest depth. */
  readonly deepest: number;
}

/** In {@link TokenTrie.tokens}: no token ends at a node. */
export const NO_TOKEN = -1;

/** Tokens without bytes, which are no text, aren't in it. */
export function tokenTrie(tokenizer: Tokenizer, size: number): TokenTrie {
  const texts: { id: number; text: string }[] = []; // one character for each byte, because strings sort fast
  for (let id = 0; id < size; id++) {
    const bytes = tokenizer.bytes(id);
    if (bytes.length > 0) texts.push({ id, text: String.fromCharCode(...bytes) });
  }
  texts.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.id - b.id));
  const [bytes, depths, ends, tokens]: [number[], number[], number[], number[]] = [[], [], [], []];
  const copies: { token: number; of: number }[] = [];
  const path: number[] = []; // the nodes of the last text
  let last = "";
  let deepest = 0;
  for (const { id, text } of texts) {
    if (text === last) {
      copies.push({ token: id, of: tokens[tokens.length - 1]! });
      continue;
    }
    let shared = 0;
    while (shared < last.length && last.charCodeAt(shared) === text.charCodeAt(shared)) shared++;
    for (const node of path.splice(shared)) ends[node] = bytes.length;
    for (let at = shared; at < text.length; at++) {
      path.push(bytes.length);
      depths.push(at);
      tokens.push(NO_TOKEN);
      ends.push(0);
      bytes.push(text.charCodeAt(at));
    }
    tokens[tokens.length - 1] = id; // a text ends at a new node, because texts that begin with it come later
    deepest = Math.max(deepest, text.length);
    last = text;
  }
  for (const node of path) ends[node] = bytes.length;
  return {
    bytes: Uint8Array.from(bytes),
    depths: Uint16Array.from(depths),
    ends: Int32Array.from(ends),
    tokens: Int32Array.from(tokens),
    copies,
    deepest,
  };
}
