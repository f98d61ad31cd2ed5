import type { Command } from "commander";
import { load, type Model, type PerplexityOptions, type RopeConfig, RopewalkError } from "../../index.node.js";
import { readTextFile } from "../config_file.js";
import { promptOf } from "../generate/prompt.js";
import { interruptible } from "../interrupt.js";
import { modelOptions, withModel } from "../loaded_model.js";
import { ropeInALine, type Speed, speedInWords, speedOf } from "../model_text.js";
import { several, wholeNumber } from "../options.js";
import { bucketsOf, type Cut, lossByPosition } from "./positions.js";
import { addRopeOptions, type NamedScaling, parseScaling, type RopeFlags, SCALING } from "../rope_options.js";
import { type Bar, type Terminal, withBar } from "../terminal.js";

interface Flags extends RopeFlags {
  window?: number;
  stride?: number;
  scaling?: NamedScaling[];
  byPosition?: number | true;
  tokens?: number;
}

/** A text measured under one scaling. */
interface Measured {
  scaling: string;
  rope: Readonly<RopeConfig> | null;
  perplexity: number;
  loss: number;
  /** Tokens that were foreseen. */
  counted: number;
  speed: Speed;
  /** Mean loss at each position in the window. */
  byPosition: { loss: Float64Array; counted: Uint32Array };
}

const DEFAULT_BUCKETS = 8;

const EXAMPLES = `
The text is read in windows that overlap; of each window the tokens count that the one before did not reach. A smaller stride gives each
token more to go by, and takes longer.

Examples:
  ropewalk perplexity model.gguf book.txt
  ropewalk perplexity model.gguf book.txt --window 8192 --scaling own --scaling linear:4 --scaling yarn:4
  ropewalk perplexity model.gguf book.txt --window 8192 --scaling none --scaling yarn:4 --by-position 16`;

/** `ropewalk perplexity`: how well a model foresees a text. */
export function addPerplexity(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("perplexity")
    .summary("measure how well a model foresees a text")
    .description(
      "How well a model foresees a text: e to the mean loss (−ln p) of its tokens, under several RoPE scalings side by side.",
    )
    .argument("<model>", "GGUF file, folder with safetensors and config.json, or the address of either")
    .argument("<text>", "text file; - reads stdin")
    .option(
      "--window <n>",
      "tokens that the model sees at a time (default: what it was trained for, 4096 at most)",
      wholeNumber(2),
    )
    .option(
      "--stride <n>",
      "tokens by which the window moves (default: half the window; all of it with --by-position)",
      wholeNumber(1),
    )
    .option("--scaling <scaling>", `${SCALING} (default: own)`, several(parseScaling))
    .option(
      "--by-position [buckets]",
      `mean loss by position in the window, in so many buckets (default: ${DEFAULT_BUCKETS}), with --json at each position; write it last, or with =`,
      wholeNumber(1),
    )
    .option("--tokens <n>", "only the first n tokens of the text (default: all)", wholeNumber(2));
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((model: string, text: string, flags: Flags) =>
      interruptible((signal) => run(terminal(), model, text, flags, signal)),
    );
}

async function run(terminal: Terminal, source: string, path: string, flags: Flags, signal: AbortSignal): Promise<void> {
  const text = await (path === "-" ? promptOf(path) : readTextFile(path));
  await withModel(terminal, await load(), source, modelOptions(flags, flags.window, signal), async (model) => {
    const all = model.tokenizer.encode(text);
    const tokens = all.subarray(0, flags.tokens ?? all.length);
    if (tokens.length < 2)
      throw new RopewalkError(
        "INVALID_ARGUMENT",
        path,
        `has ${tokens.length} tokens: 2 are the least that can be measured`,
      );
    const cut = cutOf(model, flags);
    const measured: Measured[] = [];
    for (const scaling of flags.scaling ?? [parseScaling("own")]) {
      const measuring = (update: Bar["update"]): Promise<Measured> =>
        measure(model, tokens, scaling, { ...cut, signal, onProgress: ({ done, total }) => update(done, total) });
      measured.push(await withBar(terminal, scaling.name, measuring, tokens.length));
    }
    const results =
      flags.byPosition === undefined ? measured.map((one) => ({ ...one, byPosition: undefined })) : measured;
    terminal.result({ model: model.info.name, text: { name: path, tokens: tokens.length }, ...cut, results });
    terminal.print(
      `${model.info.name} on ${path}: ${tokens.length.toLocaleString("en")} tokens, window ${cut.window}, stride ${cut.stride}\n`,
    );
    terminal.print(summaryTable(terminal, measured));
    if (flags.byPosition !== undefined)
      terminal.print(
        `\nMean loss (nats) by position in the window\n${positionTable(terminal, measured, cut, flags.byPosition)}`,
      );
  });
}

function cutOf({ info }: Model, flags: Flags): Cut {
  const window = flags.window ?? info.contextLength;
  const stride = flags.stride ?? (flags.byPosition === undefined ? Math.ceil(window / 2) : window);
  if (stride > window)
    throw new RopewalkError("INVALID_ARGUMENT", "--stride", `must be at most the window, ${window} (got ${stride})`);
  return { window, stride };
}

async function measure(
  model: Model,
  tokens: Int32Array,
  { name, overrides }: NamedScaling,
  options: PerplexityOptions & Cut,
): Promise<Measured> {
  const start = performance.now();
  const { perplexity, loss, losses, rope } = await model.perplexity(tokens, { ...options, rope: overrides });
  const speed = speedOf(tokens.length, performance.now() - start);
  const counted = losses.filter((one) => !Number.isNaN(one)).length;
  return { scaling: name, rope, perplexity, loss, counted, speed, byPosition: lossByPosition(losses, options) };
}

function summaryTable(terminal: Terminal, measured: readonly Measured[]): string {
  const rows = measured.map(({ scaling, rope, perplexity, loss, counted, speed }) => {
    return [
      scaling,
      perplexity.toFixed(3),
      loss.toFixed(4),
      counted.toLocaleString("en"),
      speedInWords(speed),
      ropeInALine(rope),
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
  { window }: Cut,
  parts: number | true,
): string {
  const buckets = bucketsOf(window, parts === true ? DEFAULT_BUCKETS : parts);
  const rows = buckets.map(({ from, to }) => [
    `${from}–${to - 1}`,
    ...measured.map(({ byPosition }) => meanOf(byPosition, from, to)),
  ]);
  return terminal.table(rows, { head: ["position", ...measured.map(({ scaling }) => scaling)], align: "lr" });
}

/** Mean loss of all tokens at some positions; a dash where the text has none. */
function meanOf({ loss, counted }: Measured["byPosition"], from: number, to: number): string {
  let [sum, tokens] = [0, 0];
  for (let position = from; position < to; position++) {
    if (counted[position] === 0) continue;
    sum += loss[position]! * counted[position]!;
    tokens += counted[position]!;
  }
  return tokens === 0 ? "–" : (sum / tokens).toFixed(4);
}
