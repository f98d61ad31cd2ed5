// A vocabulary: the text and kind of each token.
import { show } from "../../core/base/show.js";
import { fail } from "../../core/base/errors.js";

/** Kinds of token, with the numbers of `tokenizer.ggml.token_type`. */
export const TOKEN_KINDS = { normal: 1, unknown: 2, control: 3, user_defined: 4, unused: 5, byte: 6 } as const;

/** GPT-2's byte-level characters: printable bytes map to themselves, the others to characters from U+0100 on. */
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

/** Maps the UTF-8 bytes of `text` to GPT-2's byte-level characters. */
export function toByteLevel(text: string): string {
  return /^[!-~]*$/.test(text) ? text : byteLevelOf(utf8.encode(text));
}

/** The same for bytes, which may be only part of a character. */
export function byteLevelOf(bytes: Uint8Array): string {
  let characters = "";
  for (const byte of bytes) characters += BYTE_CHARACTERS[byte]!;
  return characters;
}

/** The bytes of a text in GPT-2's characters for bytes; those of its UTF-8 if it has other characters. */
export function bytesOfByteLevel(text: string): Uint8Array {
  const bytes = Array.from(text, (character) => BYTES_OF_CHARACTERS.get(character));
  return bytes.includes(undefined) ? utf8.encode(text) : Uint8Array.from(bytes as number[]);
}

/** The pieces and kinds of all tokens. */
export class Vocabulary {
  /** Pieces by id. A tokenizer.json may skip ids. */
  readonly pieces: readonly (string | undefined)[];
  readonly #kinds: Uint8Array;
  readonly #ids: ReadonlyMap<string, number>;

  /** @param kinds one of TOKEN_KINDS for each piece */
  constructor(pieces: readonly (string | undefined)[], kinds: Uint8Array, ids: ReadonlyMap<string, number>) {
    this.pieces = pieces;
    this.#kinds = kinds;
    this.#ids = ids;
  }

  /** One more than the largest id. */
  get size(): number {
    return this.pieces.length;
  }

  /** The id of a piece in the vocabulary's format. */
  idOf(piece: string): number | undefined {
    return this.#ids.get(piece);
  }

  /** The piece of an id. @throws INVALID_ARGUMENT (tokens): the vocabulary doesn't have the id */
  pieceOf(id: number): string {
    const piece = typeof id === "number" ? this.pieces[id] : undefined;
    if (piece !== undefined) return piece;
    fail("INVALID_ARGUMENT", "tokens", `must be ids of the vocabulary, below ${this.size} (got ${show(id)})`);
  }

  /** One of TOKEN_KINDS. */
  kindOf(id: number): number {
    return this.#kinds[id] ?? TOKEN_KINDS.unused;
  }

  /** Whether a token is special: a control token or the unknown token, not part of the text. */
  isSpecial(id: number): boolean {
    const kind = this.kindOf(id);
    return kind === TOKEN_KINDS.control || kind === TOKEN_KINDS.unknown;
  }

  /** Whether a text can have this token: not a special or unused one. */
  isText(id: number): boolean {
    return !this.isSpecial(id) && this.kindOf(id) !== TOKEN_KINDS.unused;
  }

  /** Whether a token is matched in the text before the text is split into pieces. Its piece is plain text. */
  isAdded(id: number): boolean {
    return this.isSpecial(id) || this.kindOf(id) === TOKEN_KINDS.user_defined;
  }
}

/** The value of a byte token such as `<0x0A>`; undefined for any other piece. */
export function byteOfPiece(piece: string): number | undefined {
  return /^<0x[0-9a-fA-F]{2}>$/.test(piece) ? Number.parseInt(piece.slice(3, 5), 16) : undefined;
}

/** The byte token for a byte, such as `<0x0A>`. */
export function pieceOfByte(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}
