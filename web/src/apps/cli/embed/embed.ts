// `ropewalk embed`: makes embeddings of texts, and compares them.
import { type Command, Option } from "commander";
import { type EmbeddingInfo, load, type Pooling } from "../../../index.node.js";
import { POOLINGS } from "../../../runtime/model/plan/embedding_plan.js";
import { interruptible } from "../interrupt.js";
import { modelOptions, withModel } from "../loaded_model.js";
import { loadAdapters, type LoraFlags, loraOption } from "../lora_option.js";
import { parseInteger, parseTokens } from "../options.js";
import { type QuantizeFlags, quantizeOption } from "../quantize_option.js";
import { addRopeOptions, type RopeFlags } from "../rope_options.js";
import type { ProgressBar } from "../progress_bar.js";
import { type Terminal, withProgress } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";
import { shownText, textArguments } from "./text_arguments.js";

interface Flags extends RopeFlags, ThreadFlags, QuantizeFlags, LoraFlags {
  pooling?: Pooling;
  dimensions?: number;
  prompt?: string | false;
  normalize?: boolean;
  truncate?: true;
  context?: number;
}

const EXAMPLES = `
Without --json, prints the first numbers of each vector and its cosine with the first text's. A line on stderr says how
the vectors were made: pooling, normalization, dimensions and prompt.

Examples:
  ropewalk embed ./all-MiniLM-L6-v2 "a rope is made of yarn" "yarn is twisted into rope" "the cat sleeps"
  ropewalk embed embeddinggemma.gguf --dimensions 256 --json "a text" > vector.json
  cat lines.txt | ropewalk embed ./nomic-embed-text-v1.5 --prompt search_document --json -`;

/** Adds `ropewalk embed`. */
export function addEmbed(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("embed")
    .summary("make embeddings of texts")
    .description("Make an embedding of each text: a vector whose direction says what the text is about.")
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .argument("<texts...>", "texts; - reads stdin, a text in each line, empty lines too")
    .addOption(
      new Option("--pooling <kind>", "how a text's states become one vector (default: the model's)").choices(POOLINGS),
    )
    .option("--dimensions <n>", "keep the first n elements of each vector (default: all)", parseInteger(1))
    .option("--prompt <name>", "write this prompt of the model before each text (default: the model's)")
    .option("--no-prompt", "write no prompt before the texts")
    .option("--normalize", "divide vectors by their length (default: as the model's files say)")
    .option("--no-normalize", "leave vectors as long as they are")
    .option("--truncate", "cut texts that are too long")
    .option("--context <n>", "maximum tokens of a text (default: the model's)", parseTokens(1))
    .addOption(loraOption())
    .addOption(threadOption())
    .addOption(quantizeOption());
  for (const name of ["prompt", "normalize"]) refuseBoth(command, name);
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((model: string, texts: readonly string[], flags: Flags) =>
      interruptible((signal) => run(terminal(), model, texts, flags, signal)),
    );
}

async function run(
  terminal: Terminal,
  source: string,
  given: readonly string[],
  flags: Flags,
  signal: AbortSignal,
): Promise<void> {
  const texts = await textArguments(given);
  const { pooling, dimensions, prompt, normalize, truncate } = flags;
  const rw = await load({ threads: flags.threads });
  await withModel(terminal, rw, source, await modelOptions(flags, flags.context, signal), async (model) => {
    const adapters = await loadAdapters(terminal, model, flags, signal);
    const embed = (update: ProgressBar["update"]): Promise<Float32Array[]> =>
      model.embed(texts, {
        signal,
        onProgress: ({ done, total }) => update(done, total),
        ...(pooling !== undefined && { pooling }),
        ...(dimensions !== undefined && { dimensions }),
        ...(typeof prompt === "string" && { prompt }),
        ...(prompt === false && { prompt: null }),
        ...(normalize !== undefined && { normalize }),
        ...(truncate && { truncate }),
        ...adapters,
      });
    const vectors = await withProgress(terminal, "Embedding", "texts", embed, texts.length);
    const { name, embedding, ranks } = model.info;
    const used = usedOptions(flags, embedding);
    if (ranks) terminal.note("warning: a cross-encoder isn't trained for vectors; ropewalk rank gives its scores");
    terminal.note(summary(used, embedding));
    terminal.result({
      model: name,
      ...used,
      embeddings: texts.map((text, i) => ({ text, vector: Array.from(vectors[i]!) })),
    });
    const rows = vectors.map((vector, i) => [
      cosine(vector, vectors[0]!).toFixed(4),
      `${Array.from(vector.subarray(0, 4), (x) => x.toFixed(4)).join(" ")} …`,
      shownText(texts[i]!),
    ]);
    terminal.print(terminal.table(rows, { head: ["cosine", `vector of ${vectors[0]!.length}`, "text"], align: "rll" }));
  });
}

/** How the vectors are made. */
interface Used {
  pooling: Pooling;
  normalize: boolean;
  dimensions: number;
  /** Name of the prompt, or null. */
  prompt: string | null;
}

/** The flags, and for those that are absent the model's defaults. */
function usedOptions({ pooling, normalize, dimensions, prompt }: Flags, defaults: EmbeddingInfo): Used {
  return {
    pooling: pooling ?? defaults.pooling,
    normalize: normalize ?? defaults.normalize,
    dimensions: dimensions ?? defaults.dimensions,
    prompt: prompt === false ? null : (prompt ?? defaults.defaultPrompt ?? null),
  };
}

function summary({ pooling, normalize, dimensions, prompt }: Used, model: EmbeddingInfo): string {
  const names = Object.keys(model.prompts);
  const others = names.length === 0 ? "" : ` (the model has ${names.join(", ")})`;
  return [
    `pooling ${pooling}`,
    normalize ? "normalized" : "not normalized",
    `${dimensions}${dimensions === model.dimensions ? "" : ` of ${model.dimensions}`} dimensions`,
    prompt === null ? `no prompt${others}` : `prompt ${prompt}: ${JSON.stringify(model.prompts[prompt])}`,
  ].join("; ");
}

/** They are one value to Commander, which lets the last one win. */
function refuseBoth(command: Command, option: string): void {
  const given = new Set<string>();
  for (const name of [option, `no-${option}`])
    command.on(`option:${name}`, () => {
      if (given.add(name).size > 1) command.error(`error: --${option} can't be used with --no-${option}`);
    });
}

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array): number => x.reduce((sum, value, i) => sum + value * y[i]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
