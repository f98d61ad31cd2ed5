// `ropewalk trace`: writes what a model computes for a text to a file.
import * as advise from "../../core/base/advice.js";
import { text as readStream } from "node:stream/consumers";
import { type Command, InvalidArgumentError } from "commander";
import { fail } from "../../core/base/errors.js";
import { load, toNpy, toSafetensors, type Trace, TRACED, type TraceArray, type Traced } from "../../index.node.js";
import { refuseInputs } from "./command_inputs.js";
import { interruptible } from "./interrupt.js";
import { type KvFlags, kvOption } from "./kv_option.js";
import { modelOptions, requireText, withModel } from "./loaded_model.js";
import { loadAdapters, type LoraFlags, loraOption } from "./lora_option.js";
import { parseInteger, parseTokens } from "./options.js";
import { writeFileAtomically } from "./output_file.js";
import { type QuantizeFlags, quantizeOption } from "./quantize_option.js";
import { addRopeOptions, type RopeFlags } from "./rope_options.js";
import type { Terminal } from "./terminal.js";
import { type ThreadFlags, threadOption } from "./thread_option.js";

interface Flags extends RopeFlags, QuantizeFlags, ThreadFlags, KvFlags, LoraFlags {
  output: string;
  what: Traced[];
  layers?: number[];
  heads?: number[];
  rows?: number;
  context?: number;
}

const EXAMPLES = `
Files:
  .safetensors  tensors attention.0, hidden.0, … by layer, logits, and tokens (the ids)
  .npy          one array: with --what of a kind. Several layers are stacked: [layers, …]

Examples:
  ropewalk trace model.gguf "The red ball is in the garden." -o trace.safetensors
  ropewalk trace model.gguf "The red ball" --what attention --layers 1 --heads 0,3 -o map.npy
  ropewalk trace model.gguf - --what logits --rows 1 -o logits.npy < text.txt`;

/** Adds `ropewalk trace`. */
export function addTrace(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("trace")
    .summary("write attention, hidden states, keys, values or logits of a text to a file")
    .description(
      "Write what a model computes for each token of a text, as f32: attention weights, hidden states, queries, keys, values and logits.",
    )
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .argument("<text>", "text; - reads it from stdin")
    .requiredOption("-o, --output <file>", ".safetensors or .npy file to write")
    .option("--what <list>", `what to write: ${TRACED.join(",")}`, parseWhat, ["attention", "hidden", "logits"])
    .option(
      "--layers <list>",
      "layers, from 0, for example 0,5 (default: all that have them); hidden states also have the output of the model",
      parseIndices,
    )
    .option("--heads <list>", "query heads, from 0, of attention and queries (default: all)", parseIndices)
    .option("--rows <n>", "only the last n tokens (default: all)", parseTokens(1))
    .option("--context <n>", "context length in tokens (default: the trained length, at most 4096)", parseTokens(1))
    .addOption(threadOption())
    .addOption(quantizeOption())
    .addOption(kvOption())
    .addOption(loraOption());
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((model: string, text: string, flags: Flags) =>
      interruptible((signal) => writeTrace(terminal(), model, text, flags, signal)),
    );
}

async function writeTrace(
  terminal: Terminal,
  source: string,
  given: string,
  flags: Flags,
  signal: AbortSignal,
): Promise<void> {
  const { output, what, layers, heads, rows, threads } = flags;
  const bytesOf = formatOf(output, what);
  await refuseInputs(output, [source]);
  const text = given === "-" ? await readStream(process.stdin) : given;
  const rw = await load({ threads });
  await withModel(terminal, rw, source, await modelOptions(flags, flags.context, signal), async (model) => {
    requireText(model, "only models that generate text can be traced");
    if (model.tokenizer.encode(text).length === 0)
      fail("INVALID_ARGUMENT", "text", "is empty, and this model has no begin token", advise.other("pass some text"));
    const session = model.session(await loadAdapters(terminal, model, flags, signal));
    try {
      const trace = await session.trace(text, {
        what,
        ...(layers !== undefined && { layers }),
        ...(heads !== undefined && { heads }),
        ...(rows !== undefined && { rows }),
        signal,
      });
      const arrays = arraysOf(trace);
      await writeFileAtomically(output, (file) => file.writeFile(bytesOf(arrays, trace, text)));
      const names = Object.entries(arrays).map(([name, { shape }]) => `${name} [${shape.join(", ")}]`);
      terminal.print(`${output}: ${trace.tokens.length} tokens, f32`);
      terminal.print(names.map((name) => `  ${name}`).join("\n"));
      terminal.result({
        output,
        tokens: trace.tokens,
        first: trace.first,
        shapes: Object.fromEntries(Object.entries(arrays).map(([name, { shape }]) => [name, shape])),
      });
    } finally {
      session.dispose();
    }
  });
}

/** The arrays of a trace by their names in a file. */
function arraysOf(trace: Trace): Record<string, TraceArray> {
  const byLayer = (["attention", "hidden", "queries", "keys", "values"] as const).flatMap((name) =>
    Object.entries(trace[name]).map(([layer, array]) => [`${name}.${layer}`, array] as const),
  );
  return Object.fromEntries([...byLayer, ...(trace.logits === undefined ? [] : [["logits", trace.logits] as const])]);
}

type Format = (arrays: Record<string, TraceArray>, trace: Trace, text: string) => Uint8Array;

function formatOf(output: string, what: readonly Traced[]): Format {
  if (/\.safetensors$/i.test(output))
    return (arrays, { tokens, first }, text) =>
      toSafetensors(
        { ...arrays, tokens: { data: Int32Array.from(tokens), shape: [tokens.length] } },
        { text, first: String(first) },
      );
  if (!/\.npy$/i.test(output)) fail("INVALID_ARGUMENT", "--output", `must end in .safetensors or .npy (got ${output})`);
  if (what.length !== 1)
    fail(
      "INVALID_ARGUMENT",
      "--what",
      "must name one kind for a .npy file, which has one array",
      advise.other("or write .safetensors"),
    );
  return (arrays) => toNpy(stacked(Object.values(arrays)));
}

/** One array of several layers, [layers, …]; a single one as it is. */
function stacked(arrays: readonly TraceArray[]): TraceArray {
  const [first] = arrays;
  if (first === undefined)
    return fail(
      "INVALID_ARGUMENT",
      "--what",
      "names nothing that this model has",
      advise.other("see ropewalk inspect"),
    );
  if (arrays.length === 1) return first;
  if (arrays.some(({ shape }) => String(shape) !== String(first.shape)))
    fail(
      "INVALID_ARGUMENT",
      "--layers",
      "have different shapes",
      advise.other("choose one for a .npy file, or write .safetensors"),
    );
  const data = new Float32Array(arrays.length * first.data.length);
  arrays.forEach((array, i) => data.set(array.data, i * first.data.length));
  return { data, shape: [arrays.length, ...first.shape] };
}

function parseWhat(list: string): Traced[] {
  const names = list.split(",");
  const unknown = names.find((name) => !(TRACED as readonly string[]).includes(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`Must be some of ${TRACED.join(",")}.`);
  return [...new Set(names)] as Traced[];
}

function parseIndices(list: string): number[] {
  return list.split(",").map((index) => {
    if (!/^\d+$/.test(index.trim()))
      throw new InvalidArgumentError("Must be integers from 0 up, separated by commas, for example 0,5.");
    return parseInteger(0)(index);
  });
}
