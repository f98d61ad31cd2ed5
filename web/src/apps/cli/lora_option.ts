// The option --lora, of commands that read or generate text.
import { existsSync } from "node:fs";
import { InvalidArgumentError, Option } from "commander";
import type { AdapterOptions, LoadAdapterOptions, LoadedAdapter } from "../../index.node.js";
import { withFieldNames } from "../../core/base/field_names.js";
import { choiceLine } from "./loaded_model.js";
import { hubOptions } from "./hub_options.js";
import { repeatable } from "./options.js";
import { type Terminal, withProgress } from "./terminal.js";

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
  const isScale = source !== undefined && Number.isFinite(Number(scale));
  // names on the Hub may end in :Q4_K_M, those of files in anything
  if (!isScale && (source !== undefined || (path.length > 1 && (/[\\/]$/.test(path) || existsSync(path)))))
    throw new InvalidArgumentError("The scale after : must be a number.");
  return isScale ? { source, scale: Number(scale) } : { source: text, scale: 1 };
}

/** A model, here or in a Worker. */
interface AdaptableModel {
  loadAdapter(source: string, options: LoadAdapterOptions): Promise<LoadedAdapter>;
}

/** Loads the adapters, in the order in which they were named. */
export async function loadAdapters(
  terminal: Terminal,
  model: AdaptableModel,
  { lora = [] }: LoraFlags,
  signal: AbortSignal,
): Promise<{ adapters?: AdapterOptions }> {
  const adapters = [];
  for (const { source, scale } of lora) {
    const options = { signal, ...(await hubOptions()), onWarning: (text: string) => terminal.note(`warning: ${text}`) };
    const adapter = await withProgress(terminal, `Loading ${source}`, "bytes", (update) =>
      withFieldNames(
        (field) => (field === "folder: files" ? source : field), // else it is the model's
        () => model.loadAdapter(source, { ...options, onProgress: ({ loaded, total }) => update(loaded, total) }),
      ),
    );
    if (adapter.info.hub !== undefined) terminal.note(choiceLine(adapter.info.hub));
    adapters.push({ adapter, scale });
  }
  return lora.length === 0 ? {} : { adapters };
}
