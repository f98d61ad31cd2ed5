// Loads a model for a command and describes it.
import * as advise from "../../core/base/advice.js";
import { Option } from "commander";
import { fail } from "../../core/base/errors.js";
import type { ChatMessage, ChatOptions, HubChoice, Model, ModelOptions } from "../../index.node.js";
import { dateVariables } from "../../runtime/text/chat/dates.js";
import { warningsOf } from "../../runtime/text/chat/problems.js";
import { formatBytes } from "./format.js";
import { hubOptions } from "./hub_options.js";
import { readTextFile } from "./input_file.js";
import type { Warning } from "../../core/base/warnings.js";
import { warningInCommandWords, type WarningWords } from "./command_words.js";
import type { KvFlags } from "./kv_option.js";
import { fallbackWarnings, type QuantizeFlags, unusedWarnings } from "./quantize_option.js";
import { type RopeFlags, ropeOverridesFrom } from "./rope_options.js";
import type { ProgressBar } from "./progress_bar.js";
import { type Terminal, withProgress } from "./terminal.js";

/** Throws UNSUPPORTED_MODEL for a model that generates no text. */
export function requireText({ info }: Pick<Model, "info">, otherwise?: string): void {
  if (info.noText === undefined) return;
  const command = info.decides ? "decide" : info.ranks ? "rank" : "embed";
  const advice = otherwise ?? `use ropewalk ${command}`;
  fail("UNSUPPORTED_MODEL", info.name, `${info.architecture} ${info.noText}`, advise.other(advice));
}

/** The option --chat-template. */
export function chatTemplateOption(): Option {
  return new Option("--chat-template <file>", "Jinja file to format messages with (default: the model's template)");
}

/** Flags of {@link chatTemplateOption}. */
export interface ChatTemplateFlags {
  chatTemplate?: string;
}

/** The options --template-name and --no-parse-special. */
export function messageOptions(): Option[] {
  return [
    new Option("--template-name <name>", "which of the model's chat templates to use (default: default, or tool_use)"),
    new Option("--no-parse-special", "read control tokens in messages as text"),
  ];
}

/** Flags of {@link messageOptions}. */
export interface MessageFlags {
  templateName?: string;
  parseSpecial: boolean;
}

/** The options of chats from the flags of a command. */
export function messageOptionsFrom({
  templateName,
  parseSpecial,
}: MessageFlags): Pick<ChatOptions, "templateName" | "parseSpecial"> {
  return { ...(templateName !== undefined && { templateName }), parseSpecial };
}

/** Throws UNSUPPORTED_MODEL for a model that has no chat template and got none. */
export function requireTemplate({ info, chatTemplates }: Model, otherwise: string): void {
  if (Object.keys(chatTemplates).length > 0) return;
  const advice = `pass one with --chat-template, or ${otherwise}`;
  fail("UNSUPPORTED_MODEL", `${info.name}: chat_template`, "the model has no chat template", advise.other(advice));
}

/** Model options from the flags of a command. */
export async function modelOptions(
  flags: RopeFlags & QuantizeFlags & ChatTemplateFlags & KvFlags,
  contextLength: number | undefined,
  signal: AbortSignal,
): Promise<ModelOptions> {
  const rope = ropeOverridesFrom(flags);
  const { quantize, chatTemplate, kv: dtype, kvKeys: keys } = flags;
  return {
    signal,
    ...(await hubOptions()),
    ...(contextLength !== undefined && { contextLength }),
    ...(rope !== undefined && { rope }),
    ...(quantize !== undefined && { quantize }),
    ...((dtype ?? keys) !== undefined && {
      kv: { ...(dtype !== undefined && { dtype }), ...(keys !== undefined && { keys }) },
    }),
    ...(chatTemplate !== undefined && { chatTemplate: await readTextFile(chatTemplate) }),
  };
}

/** A loaded model, here or in a Worker. */
interface Loaded {
  readonly info: Model["info"];
  dispose(): unknown;
}

/** What loads models, here or in a Worker. */
interface Loader<Given extends Loaded> {
  model(source: string, options: ModelOptions): Promise<Given>;
}

/**
 * Loads a model with a progress bar, calls `use`, and disposes of the model.
 * @param inWords - says a warning of the package in the words of the command; undefined leaves it out
 */
export async function withModel<T, Given extends Loaded>(
  terminal: Terminal,
  rw: Loader<Given>,
  source: string,
  options: ModelOptions,
  use: (model: Given) => Promise<T>,
  inWords: WarningWords = warningInCommandWords,
): Promise<T> {
  const given: (readonly [message: string, warning: Warning | undefined])[] = [];
  const load = (update: ProgressBar["update"]): Promise<Given> =>
    rw.model(source, {
      ...options,
      onWarning: (message, warning) => given.push([message, warning]),
      onProgress: ({ loaded, total, stage }) => stage === "weights" && update(loaded, total),
    });
  const model = await withProgress(terminal, `Loading ${source}`, "bytes", load);
  const { formats, loadedFormats, hub } = model.info;
  if (hub !== undefined) terminal.note(choiceLine(hub));
  const warnings = [
    ...given.flatMap((warning) => inWords(...warning) ?? []),
    ...unusedWarnings(options.quantize, formats, loadedFormats),
    ...fallbackWarnings(options.quantize, Object.keys(formats), Object.keys(loadedFormats)),
  ];
  for (const warning of warnings) terminal.note(`warning: ${warning}`);
  try {
    return await use(model);
  } finally {
    await model.dispose();
  }
}

/** Which file of a repository was opened, and why. */
export function choiceLine({ repository, commit, file, reason, bytes }: HubChoice): string {
  const size = bytes === undefined ? "" : `, ${formatBytes(bytes)}`;
  return `${repository}: ${file}${size} of commit ${commit.slice(0, 7)} (${reason})`;
}

/** A model in a line. */
export function modelSummary({ info }: Pick<Model, "info">): string {
  const { name, architecture, parameters, loadedFormats, memory } = info;
  return `${name}: ${architecture}, ${parameters.toLocaleString("en")} weights as ${Object.keys(loadedFormats).join(", ")}, ${formatBytes(memory.weights)}`;
}

/** The token ids of messages. What the prompt lacks is noted. */
export async function chatTokens(
  terminal: Terminal,
  model: Model,
  messages: readonly ChatMessage[],
  flags: MessageFlags,
): Promise<Int32Array> {
  const options = { ...messageOptionsFrom(flags), variables: { ...dateVariables(new Date()) } };
  const { tokens, problems } = await model.readPrompt(messages, options);
  for (const warning of warningsOf(problems)) terminal.note(`warning: ${warning}`);
  return tokens;
}
