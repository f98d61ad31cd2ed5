// The decoder of a tokenizer.json: components that change the texts of tokens one after the other, and join them to a text.
import { isDict } from "../../../core/base/dict.js";
import { Options, unsupported } from "../components/options.js";
import { metaspaceOptions } from "../components/pre_tokenizer.js";
import { readPattern } from "../components/read_pattern.js";
import type { EachMatch } from "../pattern/limited_pattern.js";
import { type Steps, TooManySteps } from "../pattern/matcher.js";
import { byteOfPiece, bytesOfByteLevel } from "../vocabulary.js";
import { joinByteLevel, joinBytes } from "./bytes.js";
import { changing, type Sink, whole } from "./sink.js";
import { ctcText, joinWords, replaceText, strip, stripParts, withoutRepeats, wordPieceText } from "./steps.js";

/** How tokens are decoded. */
export interface DecodingMode {
  /** The tokens follow others, so that the first one isn't the first of a text. */
  readonly continues: boolean;
  /** Texts are passed on as early as possible. */
  readonly early: boolean;
}

interface Step {
  /** Takes tokens. `onlyJoined`: what follows only joins the texts, so they may be passed on in parts. */
  readonly tokens: (next: Sink, mode: DecodingMode & { onlyJoined: boolean }) => Sink;
  /** Takes the parts of one text. Without it, that text is taken as a whole and as a token. */
  readonly parts?: (next: Sink, mode: DecodingMode) => Sink;
  /** Whether the result is one text, which is passed on in parts. */
  readonly joins?: boolean;
  /** The text that a token adds in the middle of others. */
  readonly text: (token: string) => string;
  /** Its bytes, where these needn't be characters; undefined for a token without them. */
  readonly bytes?: (token: string) => Uint8Array | undefined;
}

const utf8 = new TextEncoder();

/** Decodes tokens by their texts. */
export class Decoder {
  readonly #steps: readonly Step[];

  /** @throws INVALID_FILE, UNSUPPORTED_MODEL (tokenizer.json decoder) */
  constructor(json: unknown, steps: Steps) {
    this.#steps = json === undefined || json === null ? [SPACES] : readSteps(json, steps);
  }

  /** A sink for the texts of tokens, which calls `out` with parts of the text that they make. */
  sink(out: (text: string) => void, mode: DecodingMode): Sink {
    const makers: ((next: Sink) => Sink)[] = [];
    let isJoined = false;
    this.#steps.forEach(({ tokens, parts, joins }, i) => {
      const following = this.#steps[i + 1];
      const takes = (next: Sink): Sink =>
        tokens(next, { ...mode, onlyJoined: following === undefined || following === FUSE });
      if (!isJoined) makers.push(takes);
      else if (parts !== undefined) makers.push((next) => parts(next, mode));
      else makers.push((next) => whole(takes(next)));
      isJoined = joins === true || (isJoined && parts !== undefined);
    });
    return makers.reduceRight<Sink>((next, make) => make(next), { add: out, end: () => undefined });
  }

  /** The bytes that a token adds in the middle of a text. */
  bytesOf(token: string): Uint8Array {
    let text = token;
    for (const step of this.#steps) {
      const bytes = step.bytes?.(text);
      if (bytes !== undefined) return bytes;
      text = step.text(text);
    }
    return utf8.encode(text);
  }
}

function readSteps(json: unknown, steps: Steps): Step[] {
  const options = Options.of(json, "decoder");
  const read =
    options.type === "Sequence"
      ? options.list("decoders").flatMap((part) => readSteps(part, steps))
      : [readStep(options, steps)];
  options.end();
  return read;
}

function readStep(options: Options, steps: Steps): Step {
  switch (options.type) {
    case "ByteLevel":
      for (const key of ["add_prefix_space", "trim_offsets"]) options.boolean(key);
      options.boolean("use_regex", true);
      return BYTE_LEVEL;
    case "ByteFallback":
      return BYTE_FALLBACK;
    case "Fuse":
      return FUSE;
    case "Replace":
      return replaceStep(options, steps);
    case "Strip":
      return stripStep(options);
    case "Metaspace":
      return metaspaceStep(options);
    case "WordPiece":
      return wordPieceStep(options);
    case "BPEDecoder": {
      const suffix = options.text("suffix");
      return {
        tokens: (next, { onlyJoined }) => joinWords(suffix, onlyJoined, next),
        text: (token) => replaceText(token, suffix, " "),
      };
    }
    case "CTC":
      return ctcStep(options);
    default:
      return unsupported("decoder", `has the unknown type ${options.type}`);
  }
}

const BYTE_LEVEL: Step = {
  tokens: joinByteLevel,
  joins: true,
  text: (token) => token,
  bytes: bytesOfByteLevel,
};

const FUSE: Step = { tokens: (next) => next, parts: (next) => next, joins: true, text: (token) => token };

const BYTE_FALLBACK: Step = {
  tokens: (next, { early, onlyJoined }) => joinBytes(early && onlyJoined, next),
  text: (token) => token,
  bytes(token) {
    const byte = byteOfPiece(token);
    return byte === undefined ? undefined : Uint8Array.of(byte);
  },
};

/** Without a decoder, there is a space between tokens. */
const SPACES: Step = {
  tokens(next, { continues }) {
    let isFirst = !continues;
    return {
      add(token) {
        next.add(isFirst ? token : ` ${token}`);
        isFirst = false;
      },
      end: () => next.end(),
    };
  },
  text: (token) => ` ${token}`,
};

function replaceStep(options: Options, steps: Steps): Step {
  const replace = replacing(readPattern(options, steps), options.text("content"), steps);
  const pattern = options.value("pattern");
  const isOne = isDict(pattern) && typeof pattern["String"] === "string" && Array.from(pattern["String"]).length === 1;
  const tokens = (next: Sink): Sink => changing(replace, next);
  return isOne ? { tokens, parts: tokens, text: replace } : { tokens, text: replace };
}

function replacing(eachMatch: EachMatch, content: string, steps: Steps): (text: string) => string {
  return (text) => {
    let result = "";
    let at = 0;
    eachMatch(text, (start, end) => {
      result += text.slice(at, start) + content;
      at = end;
      if (result.length > steps.longest) throw new TooManySteps("a replacement makes the text too long");
    });
    return result + text.slice(at);
  };
}

/** Characters that Strip removes: more than any text has. */
const MOST = 2 ** 31 - 1;

function stripStep(options: Options): Step {
  const read = {
    content: options.character("content"),
    start: options.integer("start", 0, MOST),
    stop: options.integer("stop", 0, MOST),
  };
  return {
    tokens: (next) => changing((token) => strip(token, read), next),
    parts: (next, { continues }) => stripParts(read, continues, next),
    text: (token) => token,
  };
}

function metaspaceStep(options: Options): Step {
  const { replacement, scheme } = metaspaceOptions(options);
  const text = (token: string): string => token.replaceAll(replacement, " ");
  const first = (token: string): string => token.replaceAll(replacement, "");
  return {
    tokens(next, { continues }) {
      let isFirst = !continues && scheme !== "never";
      const change = (token: string): string => {
        const changed = isFirst ? first(token) : text(token);
        isFirst = false;
        return changed;
      };
      return changing(change, next);
    },
    // all of one text is its first token
    parts: (next, { continues }) => changing(!continues && scheme !== "never" ? first : text, next),
    text,
  };
}

function wordPieceStep(options: Options): Step {
  const read = { prefix: options.text("prefix"), cleanup: options.boolean("cleanup") };
  return {
    tokens(next, { continues }) {
      let isFirst = !continues;
      const change = (token: string): string => {
        const changed = wordPieceText(token, isFirst, read);
        isFirst = false;
        return changed;
      };
      return changing(change, next);
    },
    text: (token) => wordPieceText(token, false, read),
  };
}

function ctcStep(options: Options): Step {
  const read = {
    pad: options.text("pad_token"),
    delimiter: options.text("word_delimiter_token"),
    cleanup: options.boolean("cleanup"),
  };
  return { tokens: (next) => withoutRepeats(read, next), text: (token) => ctcText(token, read) };
}
