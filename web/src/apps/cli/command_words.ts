// The words of the command line for what errors and warnings advise: options instead of those of calls, and commands instead of calls.
import { Command } from "commander";
import * as advise from "../../core/base/advice.js";
import { adviceIn, type AdviceWords, callsIn, type CallWords } from "../../core/base/advice_words.js";
import type { RopewalkError } from "../../core/base/errors.js";
import type { Warning } from "../../core/base/warnings.js";
import { GivenOptions } from "./command_fields.js";

/** What takes the place of a call; undefined if no command does that. */
const CALLS: CallWords = {
  decide: "ropewalk decide",
  embed: "ropewalk embed",
  rank: "ropewalk rank",
  retune: undefined,
  shift: undefined,
  rewind: undefined,
  append: undefined,
  promptTokens: undefined,
  ropeConfig: undefined,
  "session.keys": "--what keys",
  "completions.create": "ropewalk generate without --chat",
};

function tableOf(given: GivenOptions): AdviceWords {
  return {
    other: ({ words }) => words,
    spell: advise.spell,
    choose: advise.choose,
    raise: (values) => {
      const flag = given.flagOf(values.option);
      return flag && `${values.of === "model" ? "raise" : "use a larger"} ${flag}${advise.boundsOf(values)}`;
    },
    lower: ({ options }) => {
      const flags = options.flatMap((option) => given.flagOf(option) ?? []);
      return flags.length === 0 ? undefined : `use a smaller ${flags.join(" or ")}`;
    },
    pass: ({ option, value = "" }) => {
      const flag = given.flagOf(option);
      return (
        flag && `pass ${[flag, ...(value === "true" || value === "" ? [] : [String(JSON.parse(value))])].join(" ")}`
      );
    },
    load: ({ option, value = "", saved }) => {
      if (option === "tokenizer") return "use a GGUF file that has a tokenizer";
      if (option === "quantize") return "use the original model with --quantize";
      if (option === "rope" || (option === "kv.keys" && saved))
        return "start with the options of RoPE that it was saved with";
      const flag = given.flagOf(option);
      return flag && `${saved ? "start with" : "pass"} ${flag}${value && ` ${String(JSON.parse(value))}`}`;
    },
    leaveOut: ({ option }) => `leave out ${given.flagOf(option) ?? option}`,
    call: callsIn(CALLS),
    shorten: () => "start again",
    dispose: () => "use a smaller model, or a smaller --context",
    override: ({ key, value }) => `name it with ${given.flagOfKey(key, value)}`,
    pairing: () => "pass --pairing half, interleaved or interleaved_to_half",
    ropeType: ({ types }) => `name one that does with --rope-type: ${types.join(", ")}`,
    replace: () => "name a scaling with --rope-type, which drops that",
    extend: ({ rope_type, factor, window }) =>
      `extend it with --rope-type ${rope_type} --factor ${factor}${window === undefined ? "" : `, or with --position-map rerope:${window}`}`,
    template: ({ names }) => `choose one with --template-name: ${names.join(", ")}`,
    prompt: ({ as }) =>
      ({ text: "use ropewalk generate without --chat", tokens: "pass some text", "token ids": undefined })[as],
    sameAdapters: () => "pass the same --lora",
    resave: () => "name another file, or delete this one",
    adapter: () => "open its base model, and pass this with --lora",
    credentials: () => "download the file with a program that has access",
    hubToken: (values) => `${advise.licenceOf(values)}make a token at ${values.address} and set HF_TOKEN to it`,
    hubAddress: () => "check the address of --hub",
    blobs: () => undefined,
    code: () => undefined,
  };
}

/** The field and the message of an error, in the words of the command that failed. */
export function inCommandWords(error: RopewalkError, command: Command): { field: string; message: string } {
  const given = new GivenOptions(command);
  const field = given.field(error.field);
  const advice = adviceIn(tableOf(given), error.advice);
  return { field, message: `${field && `${field}: `}${error.problem}${advice && `; ${advice}`}` };
}

/** How a command says a warning of a model that it loads; undefined leaves it out. */
export type WarningWords = (message: string, warning: Warning | undefined) => string | undefined;

/** A warning in the words of the command line. */
export function warningInCommandWords(message: string, warning: Warning | undefined): string {
  if (warning === undefined) return message;
  const advice = adviceIn(tableOf(NOTHING_GIVEN), warning.advice);
  return `${warning.problem}${advice && `; ${advice}`}`;
}

const NOTHING_GIVEN = new GivenOptions(new Command());

const isAboutLength = (warning: Warning | undefined): warning is Warning => warning?.code === "CONTEXT_TOO_LONG";

/** The same; undefined if it's about a context length that the user didn't choose, or chose in order to compare scalings. */
export const warningExceptLength: WarningWords = (message, warning) =>
  isAboutLength(warning) ? undefined : warningInCommandWords(message, warning);

/** The same of the model of --draft, whose RoPE no option changes. */
export const warningOfDraft: WarningWords = (message, warning) =>
  `--draft: ${isAboutLength(warning) ? `${warning.problem}, so it guesses worse beyond` : message}`;
