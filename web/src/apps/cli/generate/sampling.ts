// Sampling options of `generate` and `chat`.
import { type Command, InvalidArgumentError, Option } from "commander";
import { fail } from "../../../core/base/errors.js";
import { SAMPLER_ORDERS, type SamplerOrder, type SamplingOptions, type GenerateOptions } from "../../../index.node.js";
import { GROUPS } from "../option_groups.js";
import { parseNumber, parseInteger, repeatable } from "../options.js";

/** Values of the options that {@link addSamplingOptions} adds. */
export interface SamplingFlags {
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  typicalP?: number;
  topNSigma?: number;
  xtc?: number;
  xtcThreshold?: number;
  mirostat?: number | true;
  mirostatEta?: number;
  samplerOrder?: SamplerOrder;
  repetitionPenalty?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  penaltyWindow?: number;
  dry?: number;
  dryBase?: number;
  dryAllowedLength?: number;
  dryWindow?: number;
  dryBreaker?: string[];
  logitBias?: Record<number, number>;
  promptLookup?: number;
  seed?: number;
}

/** The option --temperature. */
export function temperatureOption(): Option {
  return new Option(
    "-t, --temperature <number>",
    "sampling temperature; 0 always picks the most probable token (default: from the model, or 0.8)",
  ).argParser(parseNumber(0));
}

/** The option --seed. */
export function seedOption(): Option {
  return new Option(
    "--seed <n>",
    "random seed; the same seed gives the same text (default: random, printed after the text)",
  ).argParser(parseInteger(0));
}

/** The option --prompt-lookup. */
export function promptLookupOption(): Option {
  return new Option(
    "--prompt-lookup <n>",
    "guess up to n tokens at once from repeats of the text: faster, the same text (default: 0)",
  ).argParser(parseInteger(0, 63));
}

/** Adds the options for sampling tokens, but for the temperature and the seed. */
export function addSamplingOptions(command: Command): void {
  command
    .optionsGroup(GROUPS.sampling)
    .option(
      "--top-k <n>",
      "sample from the n most probable tokens; 0: all (default: from the model, or 40)",
      parseInteger(0),
    )
    .option(
      "--top-p <p>",
      "sample from the fewest tokens whose probabilities sum to p, above 0, at most 1 (default: from the model, or 0.95)",
      parseNumber(0, 1),
    )
    .option(
      "--min-p <p>",
      "drop tokens below this fraction of the largest probability, 0 to 1 (default: from the model, or 0.05)",
      parseNumber(0, 1),
    )
    .option(
      "--typical-p <p>",
      "sample from the most typical tokens, up to a probability of p together",
      parseNumber(0, 1),
    )
    .option("--top-n-sigma <n>", "drop tokens n standard deviations below the largest logit", parseNumber(0))
    .option("--xtc <p>", "how often to leave out the most probable tokens, 0 to 1", parseNumber(0, 1))
    .option("--xtc-threshold <p>", "the probability from which --xtc leaves them out (default: 0.1)", parseNumber(0, 1))
    .option(
      "--mirostat [bits]",
      "aim at this information for each token (default: 5), instead of the options above",
      parseNumber(0),
    )
    .option("--mirostat-eta <number>", "how fast --mirostat adapts (default: 0.1)", parseNumber(0))
    .addOption(
      new Option("--sampler-order <name>", "the order of these options (default: transformers)").choices(
        SAMPLER_ORDERS,
      ),
    )
    .option(
      "--repetition-penalty <number>",
      "above 1, the last 64 tokens become less probable (default: from the model, or 1)",
      parseNumber(0),
    )
    .option("--frequency-penalty <number>", "what recent tokens lose for each time they occur", parseNumber())
    .option("--presence-penalty <number>", "what recent tokens lose", parseNumber())
    .option("--penalty-window <n>", "number of recent tokens for these penalties (default: 64)", parseInteger(0))
    .option("--dry <multiplier>", "make longer repeats less probable; 0.8 is usual", parseNumber(0))
    .option("--dry-base <number>", "factor of --dry for each token of a repeat (default: 1.75)", parseNumber(1))
    .option("--dry-allowed-length <n>", "tokens from which a repeat counts for --dry (default: 2)", parseInteger(1))
    .option("--dry-window <n>", "recent tokens that --dry looks at (default: 1024)", parseInteger(0))
    .option(
      "--dry-breaker <text>",
      "text that no repeat contains; repeatable (default: line break, colon, quote, asterisk)",
      repeatable(String),
    )
    .option("--logit-bias <token=number>", "add to the logit of a token id; -inf forbids it; repeatable", parseBiases);
}

/** Sampling options from the flags, always with a seed, so that a text can be reproduced. */
export function samplingFrom(
  flags: SamplingFlags,
): SamplingOptions & Pick<GenerateOptions, "promptLookup"> & { seed: number } {
  const { xtc, xtcThreshold, mirostat, mirostatEta, dry, dryBase, dryAllowedLength, dryWindow, dryBreaker } = flags;
  requireWith("--dry", dry, { dryBase, dryAllowedLength, dryWindow, dryBreaker });
  requireWith("--xtc", xtc, { xtcThreshold });
  requireWith("--mirostat", mirostat, { mirostatEta });
  return {
    ...given(flags, [
      "temperature",
      "topK",
      "topP",
      "minP",
      "typicalP",
      "topNSigma",
      "samplerOrder",
      "repetitionPenalty",
      "frequencyPenalty",
      "presencePenalty",
      "penaltyWindow",
      "logitBias",
      "promptLookup",
    ]),
    ...(xtc !== undefined && {
      xtc: { probability: xtc, ...(xtcThreshold !== undefined && { threshold: xtcThreshold }) },
    }),
    ...(mirostat !== undefined && {
      mirostat: {
        ...(mirostat !== true && { tau: mirostat }),
        ...(mirostatEta !== undefined && { eta: mirostatEta }),
      },
    }),
    ...(dry !== undefined && {
      dry: {
        multiplier: dry,
        ...(dryBase !== undefined && { base: dryBase }),
        ...(dryAllowedLength !== undefined && { allowedLength: dryAllowedLength }),
        ...(dryWindow !== undefined && { window: dryWindow }),
        ...(dryBreaker !== undefined && { breakers: dryBreaker.map(unescaped) }),
      },
    }),
    seed: flags.seed ?? Math.floor(Math.random() * 2 ** 32),
  };
}

function given<Name extends keyof SamplingFlags>(flags: SamplingFlags, names: Name[]): Pick<SamplingFlags, Name> {
  const entries = names.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]]);
  return Object.fromEntries(entries) as Pick<SamplingFlags, Name>;
}

/** Throws INVALID_ARGUMENT for a part of an option that isn't given itself. */
function requireWith(option: string, value: unknown, parts: Readonly<Record<string, unknown>>): void {
  if (value !== undefined) return;
  for (const [name, part] of Object.entries(parts)) {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (part !== undefined) fail("INVALID_ARGUMENT", flag, `needs ${option}`);
  }
}

/** Shells pass `\n` as two characters. */
function unescaped(text: string): string {
  return text.replace(/\\n/g, "\n").replace(/\\t/g, "\t");
}

function parseBiases(text: string, before: Record<number, number> = {}): Record<number, number> {
  const [, token, bias] = /^(\d+)=(-inf|[-+\d.e]+)$/i.exec(text) ?? [];
  const value = bias?.toLowerCase() === "-inf" ? -Infinity : Number(bias);
  if (token === undefined || Number.isNaN(value))
    throw new InvalidArgumentError("Must be a token id and a number, such as 42=-1.5 or 42=-inf.");
  if (Number(token) in before) throw new InvalidArgumentError(`Token ${Number(token)} has a bias already.`);
  return { ...before, [Number(token)]: value };
}
