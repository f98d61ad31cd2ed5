// Says errors of the package in the words of the command line: options and arguments for fields, commands for calls.
import type { Command, Option } from "commander";
import { problemOf, type RopewalkError } from "../base/errors.js";

/** Options of the package that have other names here. The first that the command has is named. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  contextLength: ["context", "window"],
  length: ["context"],
  seqLen: ["context"],
  layer_type: ["layerType"],
  "dry.multiplier": ["dry"],
  "dry.base": ["dryBase"],
  "xtc.probability": ["xtc"],
  "xtc.threshold": ["xtcThreshold"],
  "mirostat.tau": ["mirostat"],
  "mirostat.eta": ["mirostatEta"],
};

/** Keys of a config that have an option. The others are set by --set. */
const KEYS: Readonly<Record<string, string>> = {
  rope_theta: "theta",
  pairing: "pairing",
  compat: "compat",
  "rope_scaling.rope_type": "ropeType",
  "rope_scaling.factor": "factor",
  "rope_scaling.original_max_position_embeddings": "trainedLength",
};

/** Options of the package that are several here, by the names of their values. Those that the user gave are named. */
const SEVERAL: Readonly<Record<string, readonly string[]>> = {
  rope: ["ropeType", "factor", "trainedLength", "theta", "pairing", "compat", "set", "scaling"],
  format: ["jsonObject", "jsonSchema", "regex", "choice", "grammar"],
};

/** What messages advise in the package, and on the command line. A function takes what matched. */
const ADVICE: readonly (readonly [RegExp, string | ((match: string[], options: GivenOptions) => string)])[] = [
  [/call embed\(\) or rank\(\)/, "use ropewalk embed or rank"],
  [/use a cross-encoder, or embed\(\)$/, "use a cross-encoder, or ropewalk embed"],
  [/pass overrides: \{ pairing: .* \}/, "pass --pairing half, interleaved or interleaved_to_half"],
  [/pass truncate: true/, "pass --truncate"],
  [/load the model with a larger contextLength/, "raise --context"],
  [/use a (\w+) contextLength or a smaller kv\.dtype/, "use a $1 --context"],
  [/use (?:a session with )?a larger contextLength/, "use a larger --context"],
  [/, or need more range: load the model with kv: .*$/, ", or need more range than the cache has"],
  [/call shift\(\) or rewind\(\)(, or| first)/, (match) => (match[1] === ", or" ? "" : "start again")],
  [/choose a scaling with retune\(\), or discard tokens with shift\(\)/, "choose another --when-full"],
  [
    /pass one with the option `chatTemplate`, or pass the prompt as text/,
    "pass one with --chat-template, or use ropewalk generate without --chat",
  ],
  [/choose one with the option `templateName`/, "choose one with --template-name"],
  [/, pass token ids, or pass a tokenizer with the option `tokenizer`/, ", or use a GGUF file that has a tokenizer"],
  [
    /pass token ids, or pass a tokenizer with the option `tokenizer`|(?<=no tokenizer; )pass token ids$/,
    "use a folder with tokenizer.json, or a GGUF file that has a tokenizer",
  ],
  [
    /can't be true with format(?=:)/,
    (_, { has, flag }) => `can't be used with ${SEVERAL["format"]!.filter(has).map(flag).join()}`,
  ],
  [/is only for texts that shift when the context is full; leave it out/, "needs --when-full shift"],
  [/with the option quantize\b/, "with --quantize"],
  [/if whenFull is "shift"/, "with --when-full shift"],
  [/which trace\(\), onLayer\(\) and steer\(\) don't know/, "which ropewalk trace doesn't know"],
  [/which session\.keys\(\) returns/, "which --what keys writes"],
  [/with another `quantize` of it/, "with another --quantize of it"],
  [/^must be a saved session$/, "isn't a kept session; name another file, or delete this one"],
  [/; read it again from where it is kept, or save it again$/, "; name another file, or delete this one"],
  [/pass text, or token ids, with at least one token/, "pass some text"],
  [/name it in the overrides/, "name it with --set"],
  [
    /add replace: true to rope_scaling to drop that, or freq_factors/,
    "name a scaling with --rope-type, which drops that",
  ],
  [/load it with kv: \{ dtype: "(\w+)" \}/, "start with --kv $1"],
  [/load it with kv: \{ keys: "\w+" \}/, "start with the options of RoPE that it was saved with"],
  [
    /load the model with the option `rope` as it was when it was saved/,
    "start with the options of RoPE that it was saved with",
  ],
  [/pass credentials in `headers`/, "download the file with a program that has access"],
  [/pass an Authorization header/, "download the file with a program that has access"],
  [/pass the URL that the server redirects to.*/, "pass the URL that the server redirects to"],
  [/; in a page, pass the files as Blobs/, ""],
  [
    /^rope_type (\w+) doesn't read this key; only (.*) do$/,
    ([, type, others], { has }) =>
      has("ropeType") || has("scaling")
        ? `--rope-type ${type} doesn't read it; only ${others} do`
        : `needs --rope-type, because this model's own, ${type}, doesn't read it; only ${others} do`,
  ],
];

/** What a command was given. */
interface GivenOptions {
  /** The first argument. */
  readonly source: string | undefined;
  /** Whether the user gave the option whose value has this name. */
  readonly has: (name: string) => boolean;
  /** The option whose value has this name, as it is written: `--top-k`. */
  readonly flag: (name: string) => string | undefined;
}

/** The field and the message of an error, in the words of the command that failed. */
export function inCommandWords(error: RopewalkError, command: Command): { field: string; message: string } {
  const options = givenOptions(command);
  const said = inOptions(problemOf(error), options);
  const shown = fieldInOptions(error.field, options);
  return { field: shown, message: shown === "" ? said : `${shown}: ${said}` };
}

/** A warning of a model that is loaded, with the options of the command line. */
export function warningInCommandWords(message: string): string {
  return message.replace(/rope_type (\w+) and factor (\d+)/, "--rope-type $1 --factor $2");
}

const IS_TOO_LONG = /^(a context of \d+ tokens is longer than the \d+ this RoPE supports); .*$/;

/** The same; undefined if it's about a context length that the user didn't choose, or chose in order to compare scalings. */
export function warningExceptLength(message: string): string | undefined {
  return IS_TOO_LONG.test(message) ? undefined : warningInCommandWords(message);
}

/** The same of the model of --draft, whose RoPE no option changes. */
export function warningOfDraft(message: string): string {
  return `--draft: ${message.replace(IS_TOO_LONG, "$1, so it guesses worse beyond")}`;
}

/** A message with the advice of the command line. */
function inOptions(message: string, options: GivenOptions): string {
  return ADVICE.reduce((text, [pattern, advice]) => {
    if (typeof advice === "string") return text.replace(pattern, advice);
    return text.replace(pattern, (...match: string[]) => advice(match, options));
  }, message);
}

function fieldInOptions(field: string, options: GivenOptions): string {
  const { has, flag } = options;
  const given = SEVERAL[field]?.filter(has).map(flag) ?? [];
  if (given.length > 0) return given.join(", ");
  if (field === "folder: files") return options.source ?? field;
  const text = /^(text|document)s\[(\d+)\]$/.exec(field);
  if (text !== null) return `${text[1]} ${Number(text[2]) + 1}`;
  const listed = /^(\w+)\[\d+\]$/.exec(field); // an entry of an option with a list
  if (listed !== null && flag(listed[1]!) !== undefined) return flag(listed[1]!)!;
  // keys of a scaling that the user named are the user's as well
  const isScaling = field.startsWith("rope_scaling.") && (has("ropeType") || has("scaling"));
  const isOverride = isOfOverrides(field) || isScaling;
  if (!isOverride) return [...(OPTIONS[field] ?? []), field].map(flag).find((name) => name !== undefined) ?? field;
  const key = field.replace(OVERRIDES, "");
  const own = KEYS[key];
  if (has("scaling") && !has("set") && (own === undefined || !has(own))) return "--scaling";
  return (own === undefined ? undefined : flag(own)) ?? `--set ${key}`;
}

/** What begins the paths of what a caller overrides: the option of ropeConfig(), or that of a model, of a kind of its layers. */
const OVERRIDES = /^(?:overrides|rope(?:\.(?:full|sliding)_attention)?)\./;

/** Whether a field is a key that the user set. */
export function isOfOverrides(field: string): boolean {
  return OVERRIDES.test(field);
}

function givenOptions(command: Command): GivenOptions {
  const option = (name: string): Option | undefined =>
    command.options.find((candidate) => candidate.attributeName() === name);
  return {
    source: command.args[0],
    has: (name) => command.getOptionValueSource(name) === "cli",
    flag: (name) => option(name)?.long,
  };
}
