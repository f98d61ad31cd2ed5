// SentencePiece's map of characters: a trie of byte sequences, and what each is replaced by. The trie is a double array of Darts-clone
// (Yata 2011), XOR-compressed. No library is used: those on npm are whole tokenizers.

/** What a prefix of some bytes is replaced by. */
export interface Prefix {
  /** Bytes of the prefix. */
  readonly length: number;
  readonly replacement: string;
}

/** Bytes that a replacement may have. Unicode's longest have 33. */
const LONGEST_REPLACEMENT = 256;

/** Bytes of a prefix. Those of SentencePiece's maps have up to 20; a damaged trie may have no end. */
const LONGEST_PREFIX = 256;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** A parsed `precompiled_charsmap`. */
export class PrecompiledMap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;
  readonly #texts = new Map<number, string>();

  /**
   * @param bytes the size of the trie in bytes (32 bits), the trie (units of 32 bits), and replacements that end in a zero byte, all
   * little-endian
   * @throws Error: the sizes don't fit
   */
  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = bytes.length < 4 ? 0 : view.getUint32(0, true);
    if (size === 0 || size % 4 !== 0 || 4 + size > bytes.length)
      throw new Error(`must begin with the size of its trie (got ${size} of ${bytes.length} bytes)`);
    this.#units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    this.#replacements = bytes.subarray(4 + size);
  }

  /** The shortest or the longest prefix of bytes[from, end) in the map. @throws Error: the map is damaged */
  prefixAt(bytes: Uint8Array, from: number, end: number, which: "shortest" | "longest"): Prefix | undefined {
    const units = this.#units;
    let found: Prefix | undefined;
    let node = offsetOf(units[0]!);
    const last = Math.min(end, from + LONGEST_PREFIX);
    for (let at = from; at < last && bytes[at] !== 0; at++) {
      node = (node ^ bytes[at]!) >>> 0;
      const unit = units[node] ?? damaged();
      if ((unit & 0x800000ff) >>> 0 !== bytes[at]) break;
      node = (node ^ offsetOf(unit)) >>> 0;
      if ((unit & 0x100) === 0) continue;
      const value = (units[node] ?? damaged()) & 0x7fffffff;
      found = { length: at + 1 - from, replacement: this.#textAt(value) };
      if (which === "shortest") break;
    }
    return found;
  }

  #textAt(start: number): string {
    const known = this.#texts.get(start);
    if (known !== undefined) return known;
    const end = this.#replacements.indexOf(0, start);
    if (start >= this.#replacements.length || end < 0 || end - start > LONGEST_REPLACEMENT) return damaged();
    const text = utf8.decode(this.#replacements.subarray(start, end));
    this.#texts.set(start, text);
    return text;
  }
}

/** The distance of a unit's children, by XOR. */
function offsetOf(unit: number): number {
  return ((unit >>> 10) << ((unit & 0x200) >>> 6)) >>> 0;
}

function damaged(): never {
  throw new Error("must have a trie whose units and replacements are inside of it");
}
