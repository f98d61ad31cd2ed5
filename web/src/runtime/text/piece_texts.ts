// The texts of tokens whose pieces are in the format of a GGUF file.
import { markControl } from "./control_text.js";
import { cleanUp } from "./decoders/cleanup.js";
import {
  type DecodeOptions,
  type DecodingCall,
  readDecodeOptions,
  type TokenStream,
  type TokenTexts,
} from "./token_stream.js";
import { byteOfPiece, bytesOfByteLevel, TOKEN_KINDS, type Vocabulary } from "./vocabulary.js";

/** How the pieces of a vocabulary represent text. */
export interface PieceFormat {
  /**
   * `byte_level`: one character for each byte, as in GPT-2. `metaspace`: text with ▁ (U+2581) for a space. `word_piece`: words that begin
   * with ▁, and parts of words. Added tokens are plain text.
   */
  readonly encoding: "byte_level" | "metaspace" | "word_piece";
  /** Where `encode` adds a space, which `decode` removes: nowhere, before the text, or also after each special token. */
  readonly spacePrefix: "never" | "first" | "after_special";
}

const utf8 = new TextEncoder();

/** The texts of the tokens of a vocabulary. */
export class PieceTexts implements TokenTexts {
  constructor(
    readonly vocabulary: Vocabulary,
    readonly format: PieceFormat,
  ) {}

  stream(options: DecodeOptions | undefined, call: DecodingCall): TokenStream {
    return new PieceStream(this, readDecodeOptions(options, call));
  }

  bytesOf(id: number): Uint8Array {
    const piece = this.vocabulary.pieceOf(id);
    if (this.vocabulary.kindOf(id) === TOKEN_KINDS.byte) return Uint8Array.of(byteOfPiece(piece)!);
    if (this.format.encoding === "word_piece") return utf8.encode(this.wordText(id, false));
    if (this.vocabulary.isAdded(id)) return utf8.encode(piece);
    if (this.format.encoding === "metaspace") return utf8.encode(piece.replaceAll("▁", " "));
    return bytesOfByteLevel(piece);
  }

  /** The text of a token of a `word_piece` vocabulary, with the space before a word unless it is the first token. */
  wordText(id: number, isFirst: boolean): string {
    const piece = this.vocabulary.pieceOf(id);
    const isAdded = this.vocabulary.isAdded(id);
    const begins = !isAdded && piece.startsWith("▁");
    const bare = begins ? piece.slice(1) : piece;
    return cleanUp(isFirst || (!begins && !isAdded) ? bare : ` ${bare}`);
  }
}

/** Passes the bytes of tokens to a streaming UTF-8 decoder. */
class PieceStream implements TokenStream {
  // keeps a byte order mark, as it is part of the text
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #dropsSpace: boolean;
  #isFirst: boolean;

  constructor(
    private readonly texts: PieceTexts,
    private readonly options: Required<DecodeOptions>,
  ) {
    this.#isFirst = !options.continues;
    this.#dropsSpace = this.#dropsFirstSpace();
  }

  push(token: number): string {
    const text = this.#push(token);
    const { vocabulary } = this.texts;
    // the rest is as with skipSpecial
    return this.options.marksSpecial && vocabulary.isSpecial(token) ? markControl(vocabulary.pieceOf(token)) : text;
  }

  #push(token: number): string {
    const { vocabulary, format } = this.texts;
    const isWord = format.encoding === "word_piece";
    const text = isWord ? this.texts.wordText(token, this.#isFirst) : "";
    const bytes = isWord ? undefined : this.texts.bytesOf(token);
    const afterSpecial = format.spacePrefix === "after_special" && vocabulary.isAdded(token);
    if (this.options.skipSpecial && vocabulary.isSpecial(token)) {
      this.#dropsSpace ||= afterSpecial;
      return "";
    }
    this.#isFirst = false;
    if (bytes === undefined) return text;
    const drops = this.#dropsSpace && bytes[0] === 0x20 && !vocabulary.isAdded(token);
    this.#dropsSpace = afterSpecial;
    return this.#decoder.decode(drops ? bytes.subarray(1) : bytes, { stream: true });
  }

  end(): string {
    this.#isFirst = !this.options.continues;
    this.#dropsSpace = this.#dropsFirstSpace();
    return this.#decoder.decode();
  }

  #dropsFirstSpace(): boolean {
    return !this.options.continues && this.texts.format.spacePrefix !== "never";
  }
}
