// `ropewalk perplexity`: measures how well a model predicts a text.
import { fail } from "../../../core/base/errors.js";
import { text as readStream } from "node:stream/consumers";
import type { Command } from "commander";
import { LONGEST_CONTEXT } from "../../../runtime/model/session/options.js";
import { load, type Model, type PerplexityOptions, type RopeConfig } from "../../../index.node.js";
import { readTextFile } from "../input_file.js";
import { interruptible } from "../interrupt.js";
import { warningExceptLength } from "../command_words.js";
import { modelOptions, requireText, withModel } from "../loaded_model.js";
import { loadAdapters, type LoraFlags, loraOption } from "../lora_option.js";
import { ropeSummary, type Speed, formatSpeed, speedOf } from "../format.js";
import { parseInteger, parseTokens, repeatable } from "../options.js";
import { bucketsOf, type WindowOptions, lossByPosition } from "./loss_by_position.js";
import { type KvFlags, kvOption } from "../kv_option.js";
import { type QuantizeFlags, quantizeOption } from "../quantize_option.js";
import { addRopeOptions, type NamedScaling, parseScaling, type RopeFlags, SCALING } from "../rope_options.js";
import type { ProgressBar } from "../progress_bar.js";
import { type Terminal, withProgress } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";

interface Flags extends RopeFlags, ThreadFlags, KvFlags, QuantizeFlags, LoraFlags {
  window?: number;
  stride?: number;
  scaling?: NamedScaling[];
  byPosition?: number | true;
  tokens?: number;
}

/** The result for one scaling. */
interface Measured {
  scaling: string;
  rope: Readonly<RopeConfig> | null;
  perplexity: number;
  loss: number;
  /** Number of predicted tokens. */
  counted: number;
  speed: Speed;
  /** Mean loss at each position in the window. */
  byPosition: { loss: Float64Array; counted: Uint32Array };
}

const DEFAULT_BUCKETS = 8;

const EXAMPLES = `
The text is read in overlapping windows. In each window, only the tokens after the end of the previous window count.
A smaller stride gives each token more context and takes longer.

Examples:
  ropewalk perplexity model.gguf book.txt
  ropewalk perplexity model.gguf book.txt --window 8192 --scaling own --scaling linear:4 --scaling yarn:4
  ropewalk perplexity model.gguf book.txt --window 8192 --scaling none --scaling yarn:4 --by-position 16`;

/** Adds `ropewalk perplexity`. */
export function addPerplexity(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("perplexity")
    .summary("measure how well a model predicts a text")
    .description(
      "Measure how well a model predicts a text: exp of the mean loss (−ln p) of its tokens. Several RoPE scalings can be compared.",
    )
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .argument("<text>", "text file; - reads stdin")
    .option(
      "--window <n>",
      "tokens per window (default: the trained length, at most 4096)",
      parseTokens(2, LONGEST_CONTEXT),
    )
    .option(
      "--stride <n>",
      "tokens between the starts of two windows (default: half a window; a whole one with --by-position)",
      parseTokens(1),
    )
    .option("--scaling <scaling>", `${SCALING} (default: own)`, repeatable(parseScaling))
    .option(
      "--by-position [buckets]",
      `print the mean loss by position in the window, in this many buckets (default: ${DEFAULT_BUCKETS}; with --json, at each position); put it last, or write --by-position=4`,
      parseInteger(1),
    )
    .option("--tokens <n>", "use only the first n tokens of the text (default: all)", parseTokens(2))
    .addOption(threadOption())
    .addOption(quantizeOption())
    .addOption(kvOption())
    .addOption(loraOption());
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((model: string, text: string, flags: Flags) =>
      interruptible((signal) => run(terminal(), model, text, flags, signal)),
    );
}

async function run(terminal: Terminal, source: string, path: string, flags: Flags, signal: AbortSignal): Promise<void> {
  const text = await (path === "-" ? readStream(process.stdin) : readTextFile(path));
  const rw = await load({ threads: flags.threads });
  const measureAll = async (model: Model): Promise<void> => {
    requireText(model);
    const all = model.tokenizer.encode(text);
    const tokens = all.subarray(0, flags.tokens ?? all.length);
    if (tokens.length < 2) fail("INVALID_ARGUMENT", path, `must have at least 2 tokens (got ${tokens.length})`);
    const windows = windowOptions(model, flags);
    const adapters = await loadAdapters(terminal, model, flags, signal);
    const measured: Measured[] = [];
    for (const scaling of flags.scaling ?? [parseScaling("own")]) {
      const measureScaling = (update: ProgressBar["update"]): Promise<Measured> =>
        measure(model, tokens, scaling, {
          ...windows,
          ...adapters,
          signal,
          onProgress: ({ done, total }) => update(done, total),
        });
      measured.push(await withProgress(terminal, scaling.name, "tokens", measureScaling, tokens.length));
    }
    const results =
      flags.byPosition === undefined ? measured.map((result) => ({ ...result, byPosition: undefined })) : measured;
    terminal.result({ model: model.info.name, text: { name: path, tokens: tokens.length }, ...windows, results });
    terminal.print(
      `${model.info.name} on ${path}: ${tokens.length.toLocaleString("en")} tokens, window ${windows.window}, stride ${windows.stride}\n`,
    );
    terminal.print(summaryTable(terminal, measured));
    if (flags.byPosition !== undefined)
      terminal.print(
        `\nMean loss (nats) by position in the window\n${positionTable(terminal, measured, windows, flags.byPosition)}`,
      );
  };
  const inWords = flags.scaling === undefined ? undefined : warningExceptLength;
  await withModel(terminal, rw, source, await modelOptions(flags, flags.window, signal), measureAll, inWords);
}

function windowOptions({ info }: Model, flags: Flags): WindowOptions {
  const window = flags.window ?? info.contextLength;
  const stride = flags.stride ?? (flags.byPosition === undefined ? Math.ceil(window / 2) : window);
  if (stride > window) fail("INVALID_ARGUMENT", "--stride", `must be at most the window, ${window} (got ${stride})`);
  return { window, stride };
}

async function measure(
  model: Model,
  tokens: Int32Array,
  { name, overrides }: NamedScaling,
  options: PerplexityOptions & WindowOptions,
): Promise<Measured> {
  const start = performance.now();
  const { perplexity, loss, losses, rope } = await model.perplexity(tokens, {
    ...options,
    ...(Object.keys(overrides).length > 0 && { rope: overrides }),
  });
  const speed = speedOf(tokens.length, performance.now() - start);
  const counted = losses.filter((value) => !Number.isNaN(value)).length;
  return { scaling: name, rope, perplexity, loss, counted, speed, byPosition: lossByPosition(losses, options) };
}

function summaryTable(terminal: Terminal, measured: readonly Measured[]): string {
  const rows = measured.map(({ scaling, rope, perplexity, loss, counted, speed }) => {
    return [
      scaling,
      perplexity.toFixed(3),
      loss.toFixed(4),
      counted.toLocaleString("en"),
      formatSpeed(speed),
      ropeSummary(rope),
    ];
  });
  return terminal.table(rows, {
    head: ["scaling", "perplexity", "loss (nats)", "counted", "speed", "RoPE"],
    align: "lrrrrl",
  });
}

function positionTable(
  terminal: Terminal,
  measured: readonly Measured[],
  { window }: WindowOptions,
  buckets: number | true,
): string {
  const ranges = bucketsOf(window, buckets === true ? DEFAULT_BUCKETS : buckets);
  const rows = ranges.map(({ from, to }) => [
    `${from}–${to - 1}`,
    ...measured.map(({ byPosition }) => meanOf(byPosition, from, to)),
  ]);
  return terminal.table(rows, { head: ["position", ...measured.map(({ scaling }) => scaling)], align: "lr" });
}

/** Mean loss of the tokens at positions `from` to `to` − 1; a dash if there are none. */
function meanOf({ loss, counted }: Measured["byPosition"], from: number, to: number): string {
  let [sum, tokens] = [0, 0];
  for (let position = from; position < to; position++) {
    if (counted[position] === 0) continue;
    sum += loss[position]! * counted[position]!;
    tokens += counted[position]!;
  }
  return tokens === 0 ? "–" : (sum / tokens).toFixed(4);
}
