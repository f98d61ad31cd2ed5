import { cpus } from "node:os";
import { type Command, Option } from "commander";
import { type Build, load, type Model, type ModelMemory, type Ropewalk } from "../../index.node.js";
import { BENCH_CONTEXT, benchModel } from "./model.js";
import type { BenchLine } from "./rounds.js";
import { benchRotation } from "./rotation.js";
import { interruptible } from "../interrupt.js";
import { modelInALine, withModel } from "../loaded_model.js";
import { bytesInWords, shortNumber } from "../model_text.js";
import { wholeNumber } from "../options.js";
import { type Terminal, withBar } from "../terminal.js";

interface Flags {
  rounds: number;
  build: Build | "auto";
}

const EXAMPLES = `
Figures are medians of several rounds, with the least and the most. One thread, as in a page; other programs slow it down.

Examples:
  ropewalk bench
  ropewalk bench model.gguf --rounds 9`;

/** `ropewalk bench`: how fast this machine is. */
export function addBench(program: Command, terminal: () => Terminal): void {
  program
    .command("bench")
    .summary("measure the speed of this machine")
    .description("How fast this machine rotates, and reads and generates with a model.")
    .argument(
      "[model]",
      "GGUF file, folder with safetensors and config.json, or the address of either (default: rotation only)",
    )
    .option("--rounds <n>", "how often each is measured", wholeNumber(1), 5)
    .addOption(
      new Option("--build <build>", "which wasm").choices(["auto", "simd", "relaxed", "scalar"]).default("auto"),
    )
    .addHelpText("after", EXAMPLES)
    .action((model: string | undefined, flags: Flags) =>
      interruptible((signal) => run(terminal(), model, flags, signal)),
    );
}

async function run(
  terminal: Terminal,
  source: string | undefined,
  { rounds, build }: Flags,
  signal: AbortSignal,
): Promise<void> {
  const rw = await load({ build });
  const machine = { cpu: cpus()[0]?.model.trim() ?? "unknown", node: process.version, build: rw.build };
  const rotation = await withBar(terminal, "Rotating", (onRound) => benchRotation(rw, rounds, signal, onRound));
  const measured = source === undefined ? undefined : await measureModel(terminal, rw, source, rounds, signal);
  terminal.result({ machine, rounds, rotation, ...measured?.json });
  terminal.print(
    `${machine.cpu}; Node ${machine.node}; ${machine.build} build${measured === undefined ? "" : `\n${measured.title}`}\n`,
  );
  terminal.print(linesTable(terminal, [...rotation, ...(measured?.json.model.lines ?? [])]));
  if (measured !== undefined) terminal.print(`\n${memoryLine(measured.json.model.memory)}`);
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
  signal: AbortSignal,
): Promise<MeasuredModel> {
  const start = performance.now();
  return withModel(terminal, rw, source, { signal, contextLength: BENCH_CONTEXT }, async (model: Model) => {
    const loadingSeconds = (performance.now() - start) / 1000;
    const lines = await withBar(terminal, "Measuring", (onRound) => benchModel(model, rounds, signal, onRound));
    const memory = { ...model.info.memory, wasm: rw.memoryBytes };
    const json = { model: { name: model.info.name, loadingSeconds, lines, memory } };
    return { title: `${modelInALine(model)}; loaded in ${loadingSeconds.toFixed(2)} s`, json };
  });
}

function linesTable(terminal: Terminal, lines: readonly BenchLine[]): string {
  const rows = lines.map(({ name, unit, median, least, most }) => [
    name,
    shortNumber(median),
    unit,
    `${shortNumber(least)} – ${shortNumber(most)}`,
  ]);
  return terminal.table(rows, { head: ["", "median", "", "least – most"], align: "lrlr" });
}

function memoryLine({ weights, cache, workspace, wasm }: ModelMemory & { wasm: number }): string {
  const parts = [
    `weights ${bytesInWords(weights)}`,
    `keys and values of ${BENCH_CONTEXT} tokens ${bytesInWords(cache)}`,
    `workspace ${bytesInWords(workspace)}`,
  ];
  return `Memory: ${parts.join(", ")}; all of wasm ${bytesInWords(wasm)}`;
}
