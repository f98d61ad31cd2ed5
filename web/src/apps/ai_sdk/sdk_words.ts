// The words of the AI SDK's calls for what errors advise.
import * as advise from "../../core/base/advice.js";
import { type AdviceWords, callsIn, type CallWords, inWordsOf } from "../../core/base/advice_words.js";
import { RopewalkError } from "../../core/base/errors.js";
import { OWN } from "./own_names.js";

/** What takes the place of a call; undefined if the SDK has none. */
const CALLS: CallWords = {
  decide: "experimental_decide() with decisionModel()",
  embed: "embed() with embeddingModel()",
  rank: "rerank() with rerankingModel()",
  "completions.create": undefined,
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
  raise: advise.raise,
  lower: advise.lower,
  pass: ({ option, value }) => `pass ${OWN}.${option}${value === undefined ? "" : `: ${value}`}`,
  load: advise.load,
  leaveOut: ({ option }) => `leave out ${OWN}.${option}`,
  call: callsIn(CALLS),
  shorten: () => undefined,
  dispose: advise.dispose,
  override: advise.override,
  pairing: advise.pairing,
  ropeType: advise.ropeType,
  replace: advise.replace,
  extend: advise.extend,
  template: ({ names }) => `choose one with the option \`templateName\` of createRopewalk(): ${names.join(", ")}`,
  prompt: ({ as }) => (as === "tokens" ? "pass some text" : undefined), // a call has only messages
  sameAdapters: () => undefined,
  resave: () => undefined,
  adapter: advise.adapter,
  credentials: advise.credentials,
  hubToken: advise.hubToken,
  hubAddress: advise.hubAddress,
  blobs: advise.blobs,
  code: () => undefined,
};

/** An error in the words of the AI SDK. Errors of other kinds stay. */
export function inSdkWords(error: unknown): unknown {
  return error instanceof RopewalkError ? inWordsOf(WORDS, error) : error;
}

/** Runs a call. Its errors have the words of the AI SDK. */
export async function withSdkWords<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw inSdkWords(error);
  }
}
