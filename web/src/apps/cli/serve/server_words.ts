// The words of the server for what errors advise: who asks it knows paths, and who runs it knows options.
import * as advise from "../../../core/base/advice.js";
import { type AdviceWords, callsIn, type CallWords, inWordsOf } from "../../../core/base/advice_words.js";
import { RopewalkError } from "../../../core/base/errors.js";

/** What takes the place of a call; undefined if no request does that. */
const CALLS: CallWords = {
  decide: "/v1/systemone or /v1/decisions",
  embed: "/v1/embeddings",
  rank: "/v1/embeddings",
  "completions.create": "/v1/completions",
  retune: undefined,
  shift: undefined,
  rewind: undefined,
  append: undefined,
  promptTokens: undefined,
  ropeConfig: undefined,
  "session.keys": undefined,
};

const WORDS: AdviceWords = {
  other: ({ words }) => words,
  spell: advise.spell,
  choose: advise.choose,
  raise: (values) =>
    values.option === "contextLength"
      ? `start the server with a larger --context${advise.boundsOf(values)}`
      : undefined,
  lower: () => "start the server with a smaller --context",
  pass: (values) => (values.option === "truncate" ? advise.pass(values) : undefined),
  load: ({ option }) => {
    if (option === "chatTemplate") return "start the server with --chat-template";
    return option === "tokenizer" ? "serve a file with a tokenizer" : undefined;
  },
  leaveOut: () => "leave out response_format",
  call: callsIn(CALLS),
  shorten: () => undefined,
  dispose: () => "send less, or start the server with a smaller --context",
  override: () => undefined,
  pairing: () => undefined,
  ropeType: () => undefined,
  replace: () => undefined,
  extend: () => undefined,
  template: ({ names }) => `start the server with --template-name and one of ${names.join(", ")}`,
  prompt: ({ as }) => ({ text: "use /v1/completions", tokens: "send some text", "token ids": "pass token ids" })[as],
  sameAdapters: () => undefined,
  resave: () => undefined,
  adapter: () => undefined,
  credentials: () => undefined,
  hubToken: () => undefined,
  hubAddress: () => undefined,
  blobs: () => undefined,
  code: () => undefined,
};

/** An error in the words of the server. Errors of other kinds stay. */
export function inServerWords(error: unknown): unknown {
  return error instanceof RopewalkError ? inWordsOf(WORDS, error) : error;
}
