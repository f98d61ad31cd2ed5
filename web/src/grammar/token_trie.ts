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
  /** Where the tokens that end at each node begin in `tokens`; those of the next node begin where they end. */
  readonly firstTokens: Int32Array;
  /** Token ids in the order of their bytes. */
  readonly tokens: Int32Array;
  /** The largest depth. */
  readonly deepest: number;
}

/** Tokens without bytes, which are no text, aren't in it. */
export function tokenTrie(tokenizer: Tokenizer, size: number): TokenTrie {
  const texts: { id: number; text: string }[] = []; // one character for each byte, because strings sort fast
  for (let id = 0; id < size; id++) {
    const bytes = tokenizer.bytes(id);
    if (bytes.length > 0) texts.push({ id, text: String.fromCharCode(...bytes) });
  }
  texts.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.id - b.id));
  const [bytes, depths, ends, firstTokens]: [number[], number[], number[], number[]] = [[], [], [], []];
  const path: number[] = []; // the nodes of the last text
  let last = "";
  let deepest = 0;
  texts.forEach(({ text }, i) => {
    let shared = 0;
    while (shared < last.length && last.charCodeAt(shared) === text.charCodeAt(shared)) shared++;
    for (const node of path.splice(shared)) ends[node] = bytes.length;
    for (let at = shared; at < text.length; at++) {
      path.push(bytes.length);
      depths.push(at);
      firstTokens.push(i); // tokens with the same bytes follow
      ends.push(0);
      bytes.push(text.charCodeAt(at));
    }
    deepest = Math.max(deepest, text.length);
    last = text;
  });
  for (const node of path) ends[node] = bytes.length;
  return {
    bytes: Uint8Array.from(bytes),
    depths: Uint16Array.from(depths),
    ends: Int32Array.from(ends),
    firstTokens: Int32Array.from([...firstTokens, texts.length]),
    tokens: Int32Array.from(texts, ({ id }) => id),
    deepest,
  };
}
