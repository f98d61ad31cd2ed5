// The RoPE configs that the pages offer: of well-known models, and of files that the user drops.
import { type Ropewalk, type RopeConfig, RopewalkError, ropeConfig } from "ropewalk";

/** A config with its name for readers. A model whose layers differ in their RoPE has one for each kind of layer. */
export interface NamedConfig {
  readonly id: string;
  readonly name: string;
  readonly config: RopeConfig;
}

/** Kinds of layers that may differ in their RoPE, as configs name them, and for readers. */
const LAYER_KINDS: Readonly<Record<string, string>> = {
  full_attention: "full-attention layers",
  sliding_attention: "sliding-window layers",
  main: "main layers",
  compress: "compressed layers",
};

const NAMES: Readonly<Record<string, string>> = {
  "llama-2-7b": "Llama 2 7B",
  "llama-3.1-8b": "Llama 3.1 8B",
  "mistral-7b-v0.3": "Mistral 7B v0.3",
  "qwen2.5-7b": "Qwen2.5 7B",
  "qwen3-0.6b": "Qwen3 0.6B",
  "gemma-3-1b": "Gemma 3 1B",
  "smollm2-135m": "SmolLM2 135M",
  "phi-3.5-mini": "Phi-3.5 mini",
  "gpt-oss-20b": "gpt-oss 20B",
  "deepseek-v3": "DeepSeek-V3",
};

const files = import.meta.glob<object>("../../../examples/configs/*.json", { eager: true, import: "default" });

/** The config.json files of well-known models. */
export const exampleFiles: readonly { id: string; name: string; config: Readonly<Record<string, unknown>> }[] =
  Object.entries(NAMES).map(([id, name]) => ({
    id,
    name,
    config: files[`../../../examples/configs/${id}.json`] as Record<string, unknown>,
  }));

/** The configs of well-known models, by the names of their files in examples/configs. */
export const bundledConfigs: readonly NamedConfig[] = Object.entries(NAMES).flatMap(([id, name]) =>
  configsOf(files[`../../../examples/configs/${id}.json`]!, id, name),
);

/**
 * Reads the RoPE of dropped files: a config.json, or a model's GGUF or safetensors files, of which it only reads the headers.
 * @throws {@link RopewalkError} as `ropeConfig()` and `rw.modelInfo()`; Error if a model has no RoPE.
 */
export async function readConfigs(rw: Ropewalk, dropped: readonly File[]): Promise<NamedConfig[]> {
  const json = dropped.find(({ name }) => name.endsWith(".json") && name.includes("config"));
  const single = json ?? (dropped.length === 1 && dropped[0]!.name.endsWith(".json") ? dropped[0] : undefined);
  if (single !== undefined) return configsOf(await parsed(single), `file:${single.name}`, single.name);
  const { layers, name } = await rw.modelInfo(dropped);
  const kinds = new Map(layers.filter(({ rope }) => rope !== null).map(({ kind, rope }) => [kind, rope!]));
  if (kinds.size === 0) throw new Error(`${name}: no layer of this model has RoPE`);
  return [...kinds].map(([kind, config]) => named(`file:${name}`, name, config, kinds.size > 1 ? kind : undefined));
}

async function parsed(file: File): Promise<object> {
  try {
    return JSON.parse(await file.text()) as object;
  } catch {
    throw new Error(`${file.name} isn't valid JSON`);
  }
}

/** One config, or one for each kind of layer if a single one isn't enough. */
function configsOf(source: object, id: string, name: string): NamedConfig[] {
  try {
    return [named(id, name, ropeConfig(source))];
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.code !== "INVALID_ARGUMENT") throw error;
    const found = Object.keys(LAYER_KINDS).flatMap((kind) => {
      try {
        return [named(id, name, ropeConfig(source, { layer_type: kind }), kind)];
      } catch {
        return []; // the model has no such layers
      }
    });
    if (found.length === 0) throw error;
    return found;
  }
}

function named(id: string, name: string, config: RopeConfig, kind?: string): NamedConfig {
  if (kind === undefined) return { id, name, config };
  return { id: `${id}:${kind}`, name: `${name}, ${LAYER_KINDS[kind] ?? kind}`, config };
}
