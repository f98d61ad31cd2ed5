// The option --lora, of commands that read or generate text.
import { existsSync } from "node:fs";
import { InvalidArgumentError, Option } from "commander";
import { fail } from "../base/errors.js";
import { type Adapter, type AdapterOptions, type Model, RopewalkError } from "../index.node.js";
import { choiceLine } from "./loaded_model.js";
import { hubOptions } from "./hub_options.js";
import { repeatable } from "./options.js";
import { type ProgressBar, type Terminal, withProgress } from "./terminal.js";

/** An adapter as it was named. */
interface NamedAdapter {
  source: string;
  scale: number;
}

/** Flags of {@link loraOption}. */
export interface LoraFlags {
  lora?: NamedAdapter[];
}

/** Returns the option. */
export function loraOption(): Option {
  return new Option(
    "--lora <adapter[:scale]>",
    "LoRA adapter to use: a folder that PEFT saved, a GGUF file, a URL of either, or a name on the Hub; repeatable",
  ).argParser(repeatable(parseAdapter));
}

/** A number after the last colon is the scale, unless it belongs to the path. */
function parseAdapter(text: string): NamedAdapter {
  if (text === "") throw new InvalidArgumentError("Must be a path, a URL or a name.");
  if (existsSync(text)) return { source: text, scale: 1 };
  const [, source, scale] = /^(.+):([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)$/i.exec(text) ?? [];
  const path = text.slice(0, Math.max(0, text.lastIndexOf(":")));
  // names on the Hub may end in :Q4_K_M, those of files in anything
  if (
    (source === undefined && path.length > 1 && (/[\\/]$/.test(path) || existsSync(path))) ||
    Math.abs(Number(scale)) === Infinity
  )
    throw new InvalidArgumentError("The scale after : must be a number.");
  return source === undefined ? { source: text, scale: 1 } : { source, scale: Number(scale) };
}

/** Loads the adapters, in the order in which they were named. */
export async function loadAdapters(
  terminal: Terminal,
  model: Model,
  { lora = [] }: LoraFlags,
  signal: AbortSignal,
): Promise<{ adapters?: AdapterOptions }> {
  const adapters = [];
  for (const { source, scale } of lora) {
    const options = { signal, ...(await hubOptions()), onWarning: (text: string) => terminal.note(`warning: ${text}`) };
    const load = (update: ProgressBar["update"]): Promise<Adapter> =>
      model.loadAdapter(source, { ...options, onProgress: ({ loaded, total }) => update(loaded, total) });
    const adapter = await withProgress(terminal, `Loading ${source}`, (update) =>
      load(update).catch((cause: unknown) => failInFolder(source, cause)),
    );
    if (adapter.info.hub !== undefined) terminal.note(choiceLine(adapter.info.hub));
    adapters.push({ adapter, scale });
  }
  return lora.length === 0 ? {} : { adapters };
}

/** Names the adapter's folder in an error about its files. */
function failInFolder(source: string, cause: unknown): never {
  if (!(cause instanceof RopewalkError) || cause.field !== "folder: files") throw cause;
  fail(cause.code, source, cause.message.slice(cause.field.length + 2), { cause });
}
