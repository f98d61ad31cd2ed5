// `ropewalk inspect`: describes a model's RoPE and memory.
import type { Command } from "commander";
import { fail, type RopewalkError } from "../../../core/base/errors.js";
import type { Description } from "../../../core/rope/description.js";
import { reasonWithoutRope } from "../../../core/config/no_rope.js";
import { load } from "../../../index.node.js";
import type { ModelInfo } from "../../../runtime/model/model.js";
import { supportOf } from "../../../runtime/model/plan/support.js";
import { cacheBytes, type CacheBytes, recurrenceOf } from "./cache_memory.js";
import { formatBytes } from "../format.js";
import { parseTokens } from "../options.js";
import { ranges } from "../ranges.js";
import { addRopeOptions, ropeOverridesFrom, type RopeFlags } from "../rope_options.js";
import { type QuantizeFlags, quantizeOption, unusedWarnings } from "../quantize_option.js";
import { type LayerRope, openSource, type Source } from "../source.js";
import type { Terminal } from "../terminal.js";

interface Flags extends RopeFlags, QuantizeFlags {
  layerType?: string;
  context?: number;
}

type Described = LayerRope & { description: Description };

const EXAMPLES = `
Examples:
  ropewalk inspect config.json
  ropewalk inspect model.gguf --context 32768
  ropewalk inspect config.json --rope-type yarn --factor 4 --context 131072
  ropewalk inspect https://example.org/models/small/ --json`;

/** Adds `ropewalk inspect`. */
export function addInspect(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("inspect")
    .summary("show the RoPE of a model and the memory it needs")
    .description(
      "Show the RoPE of each kind of layer in a model, what it does to each pair, warnings about the config, and the memory the model needs. Weights aren't read.",
    )
    .argument(
      "<source>",
      "config.json, .gguf or .safetensors file, folder, URL of one (that of a folder ends in /), or name on the Hub",
    )
    .option(
      "--context <n>",
      "context length to describe and to compute memory for (default: the trained length)",
      parseTokens(1, 2 ** 24),
    )
    .addOption(quantizeOption())
    .option("--layer-type <kind>", "only layers of this kind, for example full_attention or sliding_attention");
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((argument: string, flags: Flags) => inspect(terminal(), argument, flags));
}

async function inspect(terminal: Terminal, argument: string, flags: Flags): Promise<void> {
  const { context, layerType, quantize } = flags;
  const rw = await load({ threads: 1 });
  const options = { overrides: ropeOverridesFrom(flags), layerType };
  const source = await openSource(argument, {
    ...options,
    model: {
      ...(context !== undefined && { contextLength: context }),
      ...(quantize !== undefined && { quantize }),
    },
  });
  if (quantize !== undefined && source.info === undefined)
    fail("INVALID_ARGUMENT", "--quantize", "needs a model, because a config.json has no weights");
  const ropes = source.ropes.map((layerRope): Described => ({
    ...layerRope,
    description: rw.describe(layerRope.rope, context),
  }));
  const { formats = {}, loadedFormats = {} } = source.info ?? {};
  for (const warning of unusedWarnings(quantize, formats, loadedFormats)) terminal.note(`warning: ${warning}`);
  const generates = source.info?.generates ?? true;
  const caches = generates ? await cacheBytes(rw, source, context ?? trainedLength(source)) : undefined;
  if (terminal.json) {
    terminal.result(jsonResult(source, ropes, caches));
    return;
  }
  const parts = [
    source.info && modelText(terminal, source, source.info, quantize !== undefined),
    ...ropes.map((rope) => ropeText(terminal, rope, generates)),
    source.noRope && `${terminal.style("bold", "No RoPE")}: ${reasonOf(source.noRope)}`,
    source.config && configWindows(terminal, source, source.config),
    ...layersText(terminal, source),
    caches && cacheText(terminal, caches),
    source.config && supportOf(source.config).text,
  ];
  terminal.print(parts.filter((part) => part !== undefined).join("\n\n"));
}

/** The key of the config.json that shows it, and its value. */
function reasonOf(error: RopewalkError): string {
  return `${error.field} ${reasonWithoutRope(error) ?? error.problem}`;
}

/** The layers without RoPE: those with attention, recurrent ones, and those of feed-forward alone. */
function layersText(terminal: Terminal, source: Source): string[] {
  const { kind, layers, withoutAttention, feedForward, sessionBytes } = recurrenceOf(source);
  const attending = source.layersWithoutRope.filter((layer) => !withoutAttention.includes(layer));
  const without = `${terminal.style("bold", "Attention without RoPE")}: layers ${ranges(attending)}`;
  const recurrent = `${terminal.style("bold", `Recurrent, ${kind}`)}: layers ${ranges(layers)}`;
  const states = `  states ${formatBytes(sessionBytes)} for a session of any length, with its checkpoints`;
  const alone = Object.entries(feedForward).filter(([, own]) => own.length > 0);
  return [
    ...(attending.length > 0 ? [without] : []),
    ...(layers.length > 0 ? [`${recurrent}\n${states}`] : []),
    ...alone.map(([name, own]) => `${terminal.style("bold", `Feed-forward alone, ${name}`)}: layers ${ranges(own)}`),
  ];
}

/** Trained context length of a model, as far as the source shows it. */
function trainedLength({ info, ropes }: Source): number {
  const { max_position_embeddings, rope_scaling } = ropes[0]?.rope ?? {};
  return info?.trainedLength ?? max_position_embeddings ?? rope_scaling?.original_max_position_embeddings ?? 2048;
}

function modelText(terminal: Terminal, source: Source, info: ModelInfo, quantize: boolean): string {
  const { memory } = info;
  const count = (value: number): string => value.toLocaleString("en");
  const textOf = (formats: ModelInfo["formats"]): string =>
    Object.entries(formats)
      .map(([format, bytes]) => `${format} ${formatBytes(bytes)}`)
      .join(", ");
  const matrices = quantize ? `matrices: ${textOf(info.loadedFormats)}; ` : "";
  const experts = info.layers.filter(({ hasExperts }) => hasExperts).length;
  return [
    `${terminal.style("bold", info.name)}: ${info.architecture}, ${count(info.parameters)} parameters, made for ${count(info.trainedLength)} tokens`,
    `  ${info.layers.length} layers${experts > 0 ? ` (${experts} with experts)` : ""}, hidden size ${info.hiddenSize}, vocabulary ${count(info.vocabularySize)}`,
    ...(info.generates && !info.embedding.fromFiles ? [] : [embeddingText(info)]),
    ...windowTexts(source, info.generates),
    `  weights ${formatBytes(memory.weights)} in memory (${matrices}file: ${textOf(info.formats)}), workspace ${formatBytes(memory.workspace)}`,
  ].join("\n");
}

/** Layers with a sliding window. */
interface Window {
  readonly window: number;
  readonly layers: readonly number[];
}

/** The sliding windows of a source, and their layers. */
function layersByWindow(windows: readonly number[]): Window[] {
  const distinct = [...new Set(windows)].filter((window) => window > 0);
  return distinct.map((window) => ({
    window,
    layers: windows.flatMap((own, layer) => (own === window ? [layer] : [])),
  }));
}

/** Windows of layers that have the RoPE of all. Those of a kind with its own RoPE are in the heading of that kind. */
function windowTexts({ ropes, windows }: Source, generates: boolean): string[] {
  if (ropes.length > 1) return [];
  return layersByWindow(windows).map(
    ({ window, layers }) =>
      `  ${windowText(window, generates)}: ${layers.length === windows.length ? "all layers" : `layers ${ranges(layers)}`}`,
  );
}

/** The windows of a config.json; undefined without any. */
function configWindows(terminal: Terminal, source: Source, config: object): string | undefined {
  const lines = windowTexts(source, !supportOf({ ...config }).isEncoder);
  return lines.length === 0 ? undefined : [terminal.style("bold", "Sliding windows"), ...lines].join("\n");
}

/** Windows of decoders reach back, those of encoders to both sides. */
function windowText(window: number, generates: boolean): string {
  return generates ? `window of ${window} tokens` : `tokens up to ${window - 1} away`;
}

function embeddingText({ embedding, generates, ranks, decides }: ModelInfo): string {
  const { pooling, normalize, dimensions, prompts } = embedding;
  if (decides) return "  an encoder with a head that answers typed questions; no KV cache";
  if (ranks) return "  an encoder that scores pairs of texts; no KV cache";
  const names = Object.keys(prompts);
  const prompt = names.length === 0 ? "" : `, prompts ${names.join(", ")}`;
  const vectors = `embeddings of ${dimensions}, pooling ${pooling}${normalize ? ", normalized" : ""}${prompt}`;
  return generates ? `  an embedding model: ${vectors}` : `  an encoder: ${vectors}; no KV cache`;
}

function ropeText(terminal: Terminal, { kind, layers, window, description }: Described, generates: boolean): string {
  const [first = "", ...rest] = String(description).split("\n");
  const headingParts = [
    kind,
    layers.length > 0 ? `layers ${ranges(layers)}` : undefined,
    window ? windowText(window, generates) : undefined,
  ];
  const heading = headingParts.filter((part) => part !== undefined).join(", ");
  const lines = rest.map((line) => (/^ +warning:/.test(line) ? terminal.style("yellow", line) : line));
  return [
    ...(kind === undefined ? [] : [terminal.style("bold", heading)]),
    terminal.style("bold", first),
    ...lines,
  ].join("\n");
}

function cacheText(terminal: Terminal, { length, bytes }: CacheBytes): string {
  const cells = Object.entries(bytes).map(([dtype, count]) => [`  ${dtype}`, formatBytes(count)]);
  return `${terminal.style("bold", `KV cache of ${length.toLocaleString("en")} tokens`)}\n${terminal.table(cells, { align: "lr" })}`;
}

/**
 * Keys of a description in the JSON result: all but the decay curve, which `plot` has, and values that are slow to
 * compute.
 */
const JSON_KEYS = [
  ...(["config", "rope_type", "seqLen", "plan", "factor", "window", "pairs", "counts"] as const),
  ...(["over_extrapolated", "first_negative_distance", "warnings"] as const),
];

function jsonResult(source: Source, ropes: readonly Described[], cache: CacheBytes | undefined): object {
  const { name, config, info, layersWithoutRope, windows } = source;
  const { kind, layers, feedForward, sessionBytes } = recurrenceOf(source);
  const { layers: _, ...model } = info ?? {};
  return {
    source: name,
    runs:
      config === undefined
        ? info?.generates && !info.embedding.fromFiles
          ? "generates"
          : "embeds"
        : supportOf(config).runs,
    model: info === undefined ? null : { ...model, layers: info.layers.length },
    ropes: ropes.map(({ kind = null, layers, window = null, description }) => {
      return {
        kind,
        layers,
        sliding_window: window,
        ...Object.fromEntries(JSON_KEYS.map((key) => [key, description[key]])),
      };
    }),
    layers_without_rope: layersWithoutRope,
    windows: layersByWindow(windows),
    recurrent: layers.length === 0 ? null : { kind, layers, bytes: sessionBytes },
    feed_forward: feedForward,
    cache: cache ?? null,
  };
}
