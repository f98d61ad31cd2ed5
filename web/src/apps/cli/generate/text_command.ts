// What the commands that generate text have in common: their options, and opening the model.
import { type Command, Option } from "commander";
import { fail } from "../../../core/base/errors.js";
import {
  FULL_POLICIES,
  type FullPolicy,
  type GenerateOptions,
  load,
  type Model,
  type SessionOptions,
} from "../../../index.node.js";
import { type ChatTemplateFlags, modelOptions, requireText, withModel } from "../loaded_model.js";
import { warningOfDraft } from "../command_words.js";
import { loadAdapters, type LoraFlags, loraOption } from "../lora_option.js";
import { GROUPS } from "../option_groups.js";
import { parseInteger, parseTokens } from "../options.js";
import { type KvFlags, kvOption } from "../kv_option.js";
import { type QuantizeFlags, quantizeOption } from "../quantize_option.js";
import { addRopeOptions, type RopeFlags } from "../rope_options.js";
import type { Terminal } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";
import { addFormatOptions, type FormatFlags } from "./format_flags.js";
import { addSamplingOptions, promptLookupOption, type SamplingFlags } from "./sampling.js";

/** Values of the options that {@link addTextOptions} adds, and of those that say how messages become a prompt. */
export interface TextFlags
  extends SamplingFlags, FormatFlags, RopeFlags, ThreadFlags, KvFlags, QuantizeFlags, LoraFlags, ChatTemplateFlags {
  system?: string;
  context?: number;
  whenFull: FullPolicy;
  draft?: string;
  draftTokens?: number;
}

/** The options of `generate()` that --draft and --draft-tokens set. */
export type DraftOptions = Pick<GenerateOptions, "draft" | "draftTokens">;

/** The option --context. */
export function contextOption(): Option {
  return new Option("--context <n>", "context length in tokens (default: the trained length, at most 4096)").argParser(
    parseTokens(1),
  );
}

/** The option --when-full. `shift` says what it does when it is `shift`. */
export function whenFullOption(whenFull: FullPolicy, shift: string): Option {
  const policies = `when the context is full: stop, ${shift} (shift), or extend it with YaRN`;
  return new Option("--when-full <policy>", policies).choices(FULL_POLICIES).default(whenFull);
}

/** Adds the options for sampling, the format, memory and speed, and RoPE, each under its heading. */
export function addTextOptions(command: Command): void {
  addSamplingOptions(command);
  addFormatOptions(command);
  command
    .optionsGroup(GROUPS.memory)
    .addOption(threadOption())
    .addOption(quantizeOption())
    .addOption(kvOption())
    .addOption(loraOption())
    .addOption(promptLookupOption())
    .option("--draft <model>", "a smaller model with the same vocabulary that guesses tokens: the same text, faster")
    .option("--draft-tokens <n>", "the most tokens that --draft guesses at once (default: 7)", parseInteger(1, 63));
  addRopeOptions(command.optionsGroup(GROUPS.rope));
}

/** Opens a model that generates text, its adapters and the model of --draft, calls `use`, and disposes of them. */
export async function withTextModel(
  terminal: Terminal,
  source: string,
  flags: TextFlags,
  signal: AbortSignal,
  use: (model: Model, options: Pick<SessionOptions, "adapters">, drafting: DraftOptions) => Promise<void>,
): Promise<void> {
  const { draft: draftSource, draftTokens } = flags;
  if (draftTokens !== undefined && draftSource === undefined)
    fail("INVALID_ARGUMENT", "--draft-tokens", "needs --draft");
  const rw = await load({ threads: flags.threads });
  await withModel(terminal, rw, source, await modelOptions(flags, flags.context, signal), async (model) => {
    requireText(model);
    const options = await loadAdapters(terminal, model, flags, signal);
    if (draftSource === undefined) return use(model, options, {});
    const { contextLength } = model.info;
    const withDraft = (draft: Model): Promise<void> =>
      use(model, options, { draft, ...(draftTokens !== undefined && { draftTokens }) });
    return withModel(terminal, rw, draftSource, { contextLength, signal }, withDraft, warningOfDraft);
  });
}
