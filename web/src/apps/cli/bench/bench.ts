// `ropewalk bench`: measures rotation speed and the speed of a model.
import { cpus } from "node:os";
import { type Command, Option } from "commander";
import { fail } from "../../../core/base/errors.js";
import {
  type Build,
  load,
  type Model,
  type ModelMemory,
  type ModelOptions,
  type Ropewalk,
} from "../../../index.node.js";
import { BENCH_CONTEXT, benchModel } from "./model.js";
import type { BenchLine } from "./measure.js";
import { benchRotation } from "./rotation.js";
import { interruptible } from "../interrupt.js";
import { warningExceptLength } from "../command_words.js";
import { modelSummary, requireText, withModel } from "../loaded_model.js";
import { formatBytes, formatNumber } from "../format.js";
import { parseInteger } from "../options.js";
import { type QuantizeFlags, quantizeOption } from "../quantize_option.js";
import { type Terminal, withProgress } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";
import { hubOptions } from "../hub_options.js";

interface Flags extends ThreadFlags, QuantizeFlags {
  rounds: number;
  build: Build | "auto";
}

const EXAMPLES = `
Results are the median, minimum and maximum of several rounds. Other programs slow them down.

Examples:
  ropewalk bench
  ropewalk bench model.gguf --rounds 9`;

/** Adds `ropewalk bench`. */
export function addBench(program: Command, terminal: () => Terminal): void {
  program
    .command("bench")
    .summary("measure the speed on this machine")
    .description(
      "Measure the speed of rotation on this machine. With a model, also measure reading a prompt and generating tokens.",
    )
    .argument(
      "[model]",
      "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub (default: rotation only)",
    )
    .option("--rounds <n>", "number of measurements", parseInteger(1), 5)
    .addOption(
      new Option("--build <build>", "wasm build to use").choices(["auto", "simd", "relaxed", "scalar"]).default("auto"),
    )
    .addOption(threadOption())
    .addOption(quantizeOption())
    .addHelpText("after", EXAMPLES)
    .action((model: string | undefined, flags: Flags) =>
      interruptible((signal) => run(terminal(), model, flags, signal)),
    );
}

async function run(
  terminal: Terminal,
  source: string | undefined,
  { rounds, build, threads, quantize }: Flags,
  signal: AbortSignal,
): Promise<void> {
  if (quantize !== undefined && source === undefined) fail("INVALID_ARGUMENT", "--quantize", "needs a model");
  const rw = await load({ build, threads });
  const hub = await hubOptions();
  const options = { signal, ...hub, contextLength: BENCH_CONTEXT, ...(quantize !== undefined && { quantize }) };
  if (source !== undefined) requireText({ info: await rw.modelInfo(source, { signal, ...hub }) });
  const machine = {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    node: process.version,
    build: rw.build,
    threads: rw.threads,
  };
  const rotation = await withProgress(terminal, "Rotating", "rounds", (onRound) =>
    benchRotation(rw, rounds, signal, onRound),
  );
  const measured = source === undefined ? undefined : await measureModel(terminal, rw, source, rounds, options);
  terminal.result({ machine, rounds, rotation, ...measured?.json });
  terminal.print(
    `${machine.cpu}; Node ${machine.node}; ${machine.build} build; ${machine.threads} ${machine.threads === 1 ? "thread" : "threads"}${measured === undefined ? "" : `\n${measured.title}`}\n`,
  );
  terminal.print(linesTable(terminal, [...rotation, ...(measured?.json.model.lines ?? [])]));
  if (measured !== undefined) terminal.print(`\n${memoryLine(measured.json.model.memory)}`);
  terminal.print(`\n${explained(measured !== undefined)}`);
}

interface MeasuredModel {
  title: string;
  json: { model: { name: string; loadingSeconds: number; lines: BenchLine[]; memory: ModelMemory & { wasm: number } } };
}

function measureModel(
  terminal: Terminal,
  rw: Ropewalk,
  source: string,
  rounds: number,
  options: ModelOptions & { signal: AbortSignal },
): Promise<MeasuredModel> {
  const start = performance.now();
  const measure = async (model: Model): Promise<MeasuredModel> => {
    const loadingSeconds = (performance.now() - start) / 1000;
    const lines = await withProgress(terminal, "Measuring", "rounds", (onRound) =>
      benchModel(model, rounds, options.signal, onRound),
    );
    const memory = { ...model.info.memory, wasm: rw.memoryBytes };
    const json = { model: { name: model.info.name, loadingSeconds, lines, memory } };
    return { title: `${modelSummary(model)}; loaded in ${loadingSeconds.toFixed(2)} s`, json };
  };
  return withModel(terminal, rw, source, options, measure, warningExceptLength);
}

function linesTable(terminal: Terminal, lines: readonly BenchLine[]): string {
  const rows = lines.map(({ name, unit, median, min, max }) => [
    name,
    formatNumber(median),
    unit,
    `${formatNumber(min)} – ${formatNumber(max)}`,
  ]);
  return terminal.table(rows, { head: ["", "median", "", "min – max"], align: "lrlr" });
}

/** What the lines measure. */
function explained(hasModel: boolean): string {
  const rotation =
    "rotation: queries of a layer in wasm memory are rotated in place; GB/s counts each of their bytes once. 1 token is\ngenerating, 512 are reading a prompt.";
  const model =
    "prompt: tokens read at once. generation: one token after the other, each with the keys of all before it, without\nsampling.";
  return hasModel ? `${rotation}\n${model}` : rotation;
}

function memoryLine({ weights, cache, states, workspace, wasm }: ModelMemory & { wasm: number }): string {
  const parts = [
    `weights ${formatBytes(weights)}`,
    ...(cache > 0 ? [`KV cache of ${BENCH_CONTEXT} tokens ${formatBytes(cache)}`] : []),
    ...(states > 0 ? [`states ${formatBytes(states)}`] : []),
    `workspace ${formatBytes(workspace)}`,
  ];
  return `Memory: ${parts.join(", ")}; wasm memory in total ${formatBytes(wasm)}`;
}
