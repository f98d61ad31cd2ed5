import type { Command } from "commander";
import type { Description } from "../../rope/description.js";
import { load } from "../../index.node.js";
import type { ModelInfo } from "../../model/model.js";
import { cacheBytes, type CacheBytes } from "./memory.js";
import { bytesInWords } from "../model_text.js";
import { wholeNumber } from "../options.js";
import { addRopeOptions, modelRopeFrom, type RopeFlags } from "../rope_options.js";
import { type LayerRope, openSource, type Source } from "../source.js";
import type { Terminal } from "../terminal.js";

interface Flags extends RopeFlags {
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

/** `ropewalk inspect`: which RoPE a model has, what it does to each pair, and what memory the model takes. */
export function addInspect(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("inspect")
    .summary("say which RoPE a model has, and what memory it takes")
    .description(
      "Says which RoPE a model has by kind of layer, what it does to each pair, what looks wrong, and what memory the model takes.",
    )
    .argument(
      "<source>",
      "config.json, .gguf or .safetensors file, folder, or the address of one (a folder's ends in /)",
    )
    .option(
      "--context <n>",
      "positions to look at and to reckon memory for (what the model was trained for)",
      wholeNumber(1, 2 ** 24),
    )
    .option("--layer-type <kind>", "only layers of this kind, as full_attention or sliding_attention");
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((argument: string, flags: Flags) => inspect(terminal(), argument, flags));
}

async function inspect(terminal: Terminal, argument: string, flags: Flags): Promise<void> {
  const { context, layerType } = flags;
  const rw = await load();
  const options = { overrides: modelRopeFrom(flags), layerType };
  const source = await openSource(argument, {
    ...options,
    model: context === undefined ? {} : { contextLength: context },
  });
  const ropes = source.ropes.map((layerRope): Described => ({
    ...layerRope,
    description: rw.describe(layerRope.rope, context),
  }));
  const caches = await cacheBytes(rw, source, context ?? trainedLength(source));
  if (terminal.json) {
    terminal.result(forPrograms(source, ropes, caches));
    return;
  }
  if (source.info !== undefined) terminal.print(`${modelInWords(terminal, source.info)}\n`);
  terminal.print(ropes.map((rope) => ropeInWords(terminal, rope)).join("\n\n"));
  if (source.plainLayers.length > 0)
    terminal.print(`\n${terminal.style("bold", "Without RoPE")}: layers ${ranges(source.plainLayers)}`);
  if (caches !== undefined) terminal.print(`\n${cachesInWords(terminal, caches)}`);
}

/** The length that a model was made for, by what there is. */
function trainedLength({ info, ropes }: Source): number {
  const { max_position_embeddings, rope_scaling } = ropes[0]?.rope ?? {};
  return info?.trainedLength ?? max_position_embeddings ?? rope_scaling?.original_max_position_embeddings ?? 2048;
}

function modelInWords(terminal: Terminal, info: ModelInfo): string {
  const { memory } = info;
  const count = (value: number): string => value.toLocaleString("en");
  const formats = Object.entries(info.formats).map(([format, bytes]) => `${format} ${bytesInWords(bytes)}`);
  const experts = info.layers.filter(({ hasExperts }) => hasExperts).length;
  return [
    `${terminal.style("bold", info.name)}: ${info.architecture}, ${count(info.parameters)} parameters, trained on ${count(info.trainedLength)} positions`,
    `  ${info.layers.length} layers${experts > 0 ? ` (${experts} with experts)` : ""}, width ${info.hiddenSize}, vocabulary ${count(info.vocabularySize)}`,
    `  weights ${bytesInWords(memory.weights)} in memory (file: ${formats.join(", ")}), workspace ${bytesInWords(memory.workspace)}`,
  ].join("\n");
}

function ropeInWords(terminal: Terminal, { kind, layers, window, description }: Described): string {
  const [first = "", ...rest] = String(description).split("\n");
  const where = [
    kind,
    layers.length > 0 ? `layers ${ranges(layers)}` : undefined,
    window ? `${window} tokens in sight` : undefined,
  ];
  const heading = where.filter((part) => part !== undefined).join(", ");
  const lines = rest.map((line) => (/^ +warning:/.test(line) ? terminal.style("yellow", line) : line));
  return [
    ...(kind === undefined ? [] : [terminal.style("bold", heading)]),
    terminal.style("bold", first),
    ...lines,
  ].join("\n");
}

function cachesInWords(terminal: Terminal, { length, bytes }: CacheBytes): string {
  const cells = Object.entries(bytes).map(([dtype, count]) => [`  ${dtype}`, bytesInWords(count)]);
  return `${terminal.style("bold", `Keys and values of ${length.toLocaleString("en")} tokens`)}\n${terminal.table(cells, { align: "lr" })}`;
}

/** Indices as people write them: 0–4, 6. */
function ranges(indices: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const index of indices) {
    const last = runs.at(-1);
    if (last?.[1] === index - 1) last[1] = index;
    else runs.push([index, index]);
  }
  return runs.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`)).join(", ");
}

/** What programs are told of a description: all but the curve, which `plot` has, and what takes long to find. */
const SHOWN = [
  ...(["config", "rope_type", "seqLen", "plan", "factor", "window", "pairs", "counts"] as const),
  ...(["over_extrapolated", "first_negative_distance", "warnings"] as const),
];

function forPrograms(
  { name, info, plainLayers }: Source,
  ropes: readonly Described[],
  cache: CacheBytes | undefined,
): object {
  const { layers: _, ...model } = info ?? {};
  return {
    source: name,
    model: info === undefined ? null : { ...model, layers: info.layers.length },
    ropes: ropes.map(({ kind = null, layers, window: sight = null, description }) => {
      return {
        kind,
        layers,
        sliding_window: sight,
        ...Object.fromEntries(SHOWN.map((key) => [key, description[key]])),
      };
    }),
    layers_without_rope: plainLayers,
    cache: cache ?? null,
  };
}
