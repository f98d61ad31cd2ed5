// The texts of the tokens of a tokenizer.json, by its decoder.
import { markControl } from "./control_text.js";
import type { Decoder } from "./decoders/decoder.js";
import type { Sink } from "./decoders/sink.js";
import {
  type DecodeOptions,
  type DecodingCall,
  readDecodeOptions,
  type TokenStream,
  type TokenTexts,
} from "./token_stream.js";
import type { Vocabulary } from "./vocabulary.js";

/** The parts that decode. */
export interface JsonParts {
  readonly vocabulary: Vocabulary;
  readonly decoder: Decoder;
  /** The text of a token for the decoder, where it isn't the token itself. */
  readonly normalizedTexts: ReadonlyMap<number, string>;
  /** The texts of special tokens. A token with one of them is special. */
  readonly specials: ReadonlySet<string>;
  /** Runs a part of the decoder within its limits. */
  readonly limited: <T>(run: () => T) => T;
}

/** The texts of the tokens of a tokenizer.json. */
export class JsonTexts implements TokenTexts {
  constructor(private readonly parts: JsonParts) {}

  stream(options: DecodeOptions | undefined, call: DecodingCall): TokenStream {
    return new JsonStream(this.parts, readDecodeOptions(options, call), call === "stream()");
  }

  bytesOf(id: number): Uint8Array {
    return this.parts.limited(() => this.parts.decoder.bytesOf(textOf(this.parts, id)));
  }
}

const textOf = ({ vocabulary, normalizedTexts }: JsonParts, id: number): string => {
  const piece = vocabulary.pieceOf(id);
  return normalizedTexts.get(id) ?? piece;
};

class JsonStream implements TokenStream {
  #text = "";
  #sink: Sink;

  constructor(
    private readonly parts: JsonParts,
    private readonly options: Required<DecodeOptions>,
    private readonly early: boolean,
  ) {
    this.#sink = this.#newSink();
  }

  push(token: number): string {
    const text = textOf(this.parts, token);
    if (this.options.skipSpecial && this.parts.specials.has(text))
      return this.options.marksSpecial ? markControl(this.parts.vocabulary.pieceOf(token)) : "";
    this.parts.limited(() => this.#sink.add(text));
    return this.#take();
  }

  end(): string {
    this.parts.limited(() => this.#sink.end());
    this.#sink = this.#newSink();
    return this.#take();
  }

  #newSink(): Sink {
    const { continues } = this.options;
    return this.parts.decoder.sink((text) => (this.#text += text), { continues, early: this.early });
  }

  #take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}
