// A vocabulary: the text, kind and bytes of each token.
import { show } from "../base/show.js";
import { fail } from "../base/errors.js";

/** Kinds of token, with the numbers of `tokenizer.ggml.token_type`. */
export const TOKEN_KINDS = { normal: 1, unknown: 2, control: 3, user_defined: 4, unused: 5, byte: 6 } as const;

/** How the pieces of a vocabulary represent text. */
export interface PieceFormat {
  /**
   * `byte_level`: one character for each byte, as in GPT-2. `metaspace`: text with ▁ (U+2581) for a space. `word_piece`: words, and parts of
   * words with a prefix.
   */
  encoding: "byte_level" | "metaspace" | "word_piece";
  /**
   * Where `encode` adds a space, which `decode` removes: nowhere, before the text, or also after each special token. With `first_token`,
   * `decode` removes every space of the first token.
   */
  spacePrefix: "never" | "first" | "first_token" | "after_special";
  /** Whether added tokens are written in this format too, as in tokenizer.json. In GGUF they are plain text. */
  formatsAdded?: boolean;
  wordPiece?: WordPieceFormat;
}

/** How pieces of words are joined to a text. */
export interface WordPieceFormat {
  /** Before a piece that continues a word (`##`), or undefined if words begin with ▁ instead. */
  continuing: string | undefined;
  /** Whether spaces before punctuation and contractions are left out. */
  cleans: boolean;
}

/** What the decoder WordPiece of Hugging Face's Rust library replaces in the text of a token. */
const CLEANED: readonly (readonly [string, string])[] = [
  ...[".", "?", "!", ","].map((mark) => [` ${mark}`, mark] as const),
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [" do not", " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
];

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
  return byteLevelOf(utf8.encode(text));
}

/** The same for bytes, which may be only part of a character. */
export function byteLevelOf(bytes: Uint8Array): string {
  let characters = "";
  for (const byte of bytes) characters += BYTE_CHARACTERS[byte]!;
  return characters;
}

/** The pieces, kinds and bytes of all tokens. */
export class Vocabulary {
  /** Pieces by id. A tokenizer.json may skip ids. */
  readonly pieces: readonly (string | undefined)[];
  readonly format: PieceFormat;
  readonly #kinds: Uint8Array;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #normalized = new Map<number, string>();

  /** @param kinds one of TOKEN_KINDS for each piece */
  constructor(
    pieces: readonly (string | undefined)[],
    kinds: Uint8Array,
    ids: ReadonlyMap<string, number>,
    format: PieceFormat,
  ) {
    this.pieces = pieces;
    this.format = format;
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

  /** Sets the text that a token of a tokenizer.json is decoded from, where normalizing changes it. */
  setNormalized(id: number, text: string): void {
    this.#normalized.set(id, text);
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

  /** The text of a token of a `word_piece` vocabulary, with the space before a word unless it is the first token. */
  wordPieceText(id: number, isFirst: boolean, { continuing, cleans }: WordPieceFormat): string {
    const piece = this.#normalized.get(id) ?? this.pieceOf(id);
    const isWritten = this.isAdded(id) && continuing === undefined;
    const isContinued = continuing === undefined ? !isWritten && !piece.startsWith("▁") : piece.startsWith(continuing);
    const begins = continuing === undefined ? "▁" : "";
    const bare = !isWritten && piece.startsWith(begins) ? piece.slice(begins.length) : piece;
    const text = isFirst ? bare : isContinued ? piece.slice(continuing?.length ?? 0) : ` ${bare}`;
    return cleans ? CLEANED.reduce((cleaned, [from, to]) => cleaned.replaceAll(from, to), text) : text;
  }

  /** The UTF-8 bytes of a token, which may be only part of a character. */
  bytesOf(id: number): Uint8Array {
    const piece = this.#normalized.get(id) ?? this.pieceOf(id);
    if (this.kindOf(id) === TOKEN_KINDS.byte) return Uint8Array.of(byteOfPiece(piece)!);
    if (this.isAdded(id) && this.format.formatsAdded !== true) return utf8.encode(piece);
    if (this.format.encoding === "metaspace") return utf8.encode(piece.replaceAll("▁", " "));
    const bytes = Array.from(piece, (character) => BYTES_OF_CHARACTERS.get(character));
    return bytes.includes(undefined) ? utf8.encode(piece) : Uint8Array.from(bytes as number[]);
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
