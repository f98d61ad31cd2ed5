import { RopewalkError } from "../base/errors.js";

/** What a token is for; the numbers of `tokenizer.ggml.token_type`. */
export const TOKEN_KINDS = { normal: 1, unknown: 2, control: 3, user_defined: 4, unused: 5, byte: 6 } as const;

/** How the pieces of a vocabulary spell text. */
export interface Spelling {
  /** `byte_level`: a character for each byte, GPT-2's alphabet. `metaspace`: text, with ▁ (U+2581) for a space. */
  alphabet: "byte_level" | "metaspace";
  /** Where encoding puts a space that the text does not have, and decoding takes one away. */
  added_space: "never" | "first" | "after_special";
}

/** GPT-2's alphabet: bytes that print stand for themselves, the others for the characters from U+0100 on. */
const BYTE_CHARACTERS: readonly string[] = byteCharacters();
const BYTES_OF_CHARACTERS: ReadonlyMap<string, number> = new Map(
  BYTE_CHARACTERS.map((character, byte) => [character, byte]),
);

function byteCharacters(): string[] {
  let next = 0x100;
  const prints = (byte: number) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(prints(byte) ? byte : next++));
}

const utf8 = new TextEncoder();

/** Writes the UTF-8 bytes of `text` in GPT-2's alphabet. */
export function inByteCharacters(text: string): string {
  let spelled = "";
  for (const byte of utf8.encode(text)) spelled += BYTE_CHARACTERS[byte]!;
  return spelled;
}

/** Tokens: what they are called, what kind they are, which bytes they stand for. */
export class Vocabulary {
  /** Pieces by id; a tokenizer.json may leave ids out. */
  readonly pieces: readonly (string | undefined)[];
  readonly spelling: Spelling;
  readonly #kinds: Uint8Array;
  readonly #ids: ReadonlyMap<string, number>;

  /** @param kinds one of TOKEN_KINDS for each piece */
  constructor(
    pieces: readonly (string | undefined)[],
    kinds: Uint8Array,
    ids: ReadonlyMap<string, number>,
    spelling: Spelling,
  ) {
    this.pieces = pieces;
    this.spelling = spelling;
    this.#kinds = kinds;
    this.#ids = ids;
  }

  /** One more than the largest id. */
  get size(): number {
    return this.pieces.length;
  }

  /** The id of a piece as the vocabulary writes it. */
  idOf(piece: string): number | undefined {
    return this.#ids.get(piece);
  }

  /** @throws INVALID_ARGUMENT (tokens): an id that the vocabulary does not have */
  pieceOf(id: number): string {
    const piece = this.pieces[id];
    if (piece !== undefined) return piece;
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "tokens",
      `must be ids below ${this.size} that the vocabulary has (got ${String(id)})`,
    );
  }

  /** One of TOKEN_KINDS. */
  kindOf(id: number): number {
    return this.#kinds[id] ?? TOKEN_KINDS.unused;
  }

  /** Whether a token is a mark for the model and no part of a text. */
  isSpecial(id: number): boolean {
    const kind = this.kindOf(id);
    return kind === TOKEN_KINDS.control || kind === TOKEN_KINDS.unknown;
  }

  /** Whether a token is found in a text before the text is cut into pieces, and spelled plainly. */
  isAdded(id: number): boolean {
    return this.isSpecial(id) || this.kindOf(id) === TOKEN_KINDS.user_defined;
  }

  /** The bytes that a token stands for: UTF-8, perhaps a part of a character only. */
  bytesOf(id: number): Uint8Array {
    const piece = this.pieceOf(id);
    if (this.kindOf(id) === TOKEN_KINDS.byte) return Uint8Array.of(byteOfPiece(piece)!);
    if (this.isAdded(id)) return utf8.encode(piece);
    if (this.spelling.alphabet === "metaspace") return utf8.encode(piece.replaceAll("▁", " "));
    const bytes = Array.from(piece, (character) => BYTES_OF_CHARACTERS.get(character));
    return bytes.includes(undefined) ? utf8.encode(piece) : Uint8Array.from(bytes as number[]);
  }
}

/** The byte that `<0x0A>` names, or undefined for any other piece. */
export function byteOfPiece(piece: string): number | undefined {
  return /^<0x[0-9a-fA-F]{2}>$/.test(piece) ? Number.parseInt(piece.slice(3, 5), 16) : undefined;
}

/** The piece that stands for a byte in vocabularies that spell bytes as `<0x0A>`. */
export function pieceOfByte(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}
