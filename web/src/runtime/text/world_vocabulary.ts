// The tokenizer of RWKV World: at each byte of a text the longest token, without merges or words.
import { show } from "../../core/base/show.js";
import { fail } from "../../core/base/errors.js";
import { numbersOf, readVocabulary, stringsOf, type GgufMetadata } from "./gguf_vocabulary.js";
import { ROUNDS, type TextEncoding } from "./encoding_steps.js";
import type { PieceFormat } from "./piece_texts.js";
import { TokenTree } from "./token_tree.js";
import { byteLevelOf, toByteLevel, TOKEN_KINDS, Vocabulary } from "./vocabulary.js";

/** The vocabulary in repositories of such models: a line for each token from id 1 on, without id 0, the end of a text. */
export const WORLD_FILE = "rwkv_vocab_v20230424.txt";

/** The piece of id 0, as llama.cpp's converter writes it. */
const END_OF_TEXT = "<s>";
const MAX_ID = 1 << 22;

/** The format of its pieces. */
export const WORLD_FORMAT: PieceFormat = { encoding: "byte_level", spacePrefix: "never" };

const utf8 = new TextEncoder();

/** Returns the encoder. Calls `refuse` if a byte has no token, so that some texts couldn't be encoded. */
export function worldEncoder(vocabulary: Vocabulary, refuse: (message: string) => never): TextEncoding {
  const tree = new TokenTree();
  vocabulary.pieces.forEach((piece, id) => {
    if (piece !== undefined && vocabulary.kindOf(id) === TOKEN_KINDS.normal) tree.add(piece, id);
  });
  for (let byte = 0; byte < 256; byte++) {
    if (tree.longestAt(byteLevelOf(Uint8Array.of(byte)), 0) === undefined)
      refuse(`must have a token for each byte, so that every text can be encoded (got none for ${byte})`);
  }
  return function* (text) {
    const bytes = toByteLevel(text);
    let tokens: number[] = [];
    for (let at = 0; at < bytes.length;) {
      const { id, end } = tree.longestAt(bytes, at)!;
      tokens.push(id);
      at = end;
      if (tokens.length < ROUNDS) continue;
      yield tokens;
      tokens = [];
    }
    yield tokens;
  };
}

/** The vocabulary of a GGUF file, whose tokens are written with escapes. @throws INVALID_FILE (the key) */
export function readWorldMetadata(metadata: GgufMetadata): Vocabulary {
  const key = "tokenizer.ggml.tokens";
  const tokens = stringsOf(metadata, key);
  const types = numbersOf(metadata, "tokenizer.ggml.token_type", tokens.length);
  const pieces = tokens.map((token, id) =>
    (types?.[id] ?? TOKEN_KINDS.normal) === TOKEN_KINDS.normal ? byteLevelOf(unescaped(token, true)) : token,
  );
  return readVocabulary({ ...metadata, [key]: pieces });
}

/**
 * The vocabulary in the text of {@link WORLD_FILE}. A line has an id, a token as a literal of Python, and the number of its bytes.
 * @throws INVALID_FILE (the line)
 */
export function readWorldVocabulary(text: string): Vocabulary {
  const pieces: (string | undefined)[] = [END_OF_TEXT];
  const ids = new Map([[END_OF_TEXT, 0]]);
  text.split(/\r\n|\n|\r/).forEach((line, index) => {
    if (line === "") return;
    const [, number, bytesPrefix, quote, literal, length] = /^(\d+) (b?)(['"])(.*)\3 (\d+)$/su.exec(line) ?? [];
    const refuse = (message: string): never => refuseLine(index + 1, message);
    if (literal === undefined) return refuse(`must be an id, a quoted token and its bytes (got ${show(line)})`);
    const id = Number(number);
    const bytes = unescaped(literal, bytesPrefix === "b");
    if (id < 1 || id > MAX_ID) return refuse(`ids must be from 1 to ${MAX_ID} (got ${number})`);
    if (bytes.length !== Number(length)) return refuse(`the token has ${bytes.length} bytes, not ${length}`);
    const piece = byteLevelOf(bytes);
    if (pieces[id] !== undefined || ids.has(piece))
      return refuse(`tokens and ids must be unique (${quote}${literal}${quote})`);
    pieces[id] = piece;
    ids.set(piece, id);
  });
  const all = Array.from(pieces); // without holes
  const kinds = Uint8Array.from(all, (_, id) => (id === 0 ? TOKEN_KINDS.control : TOKEN_KINDS.normal));
  return new Vocabulary(all, kinds, ids);
}

function refuseLine(line: number, message: string): never {
  fail("INVALID_FILE", `${WORLD_FILE} line ${line}`, `${message}; the file is damaged or of another kind`);
}

const ESCAPED: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r" };
const PARTS = /\\(?:x([\da-f]{2})|u([\da-f]{4})|U(000[\da-f]{5}|0010[\da-f]{4})|(.))|[^\\]+/gsu;

/** The bytes of a token that Python has written. `\xff` is a byte in bytes, and a character in a text. */
function unescaped(literal: string, isBytes: boolean): Uint8Array {
  const bytes: number[] = [];
  for (const [part, hex = "", short = "", long = "", character] of literal.matchAll(PARTS)) {
    const code = Number.parseInt(hex + short + long, 16); // NaN without one
    if (hex !== "" && isBytes) bytes.push(code);
    else if (code >= 0) bytes.push(...utf8.encode(String.fromCodePoint(code)));
    else bytes.push(...utf8.encode(character === undefined ? part : (ESCAPED[character] ?? character)));
  }
  return Uint8Array.from(bytes);
}
