// `ropewalk doctor`: what a model's RoPE is, what other systems do with it, and how to run it at a length.
import type { Command } from "commander";
import { load } from "../../../index.node.js";
import type { DiagnoseOptions } from "../../../doctor.node.js";
import { hubOptions } from "../hub_options.js";
import { parseTokens } from "../options.js";
import { type GivenMap, mapFrom, parsePositionMap, POSITION_MAP } from "../rope_options.js";
import type { Terminal } from "../terminal.js";
import { reportText } from "./report.js";

interface Flags {
  context?: number;
  trainedLength?: number;
  positionMap?: GivenMap;
}

const EXAMPLES = `
Examples:
  ropewalk doctor config.json
  ropewalk doctor model.gguf --context 100k
  ropewalk doctor model.gguf --context 16k --position-map rerope:4096
  ropewalk doctor https://example.org/models/small/ --context 131072 --json`;

/** Adds `ropewalk doctor`. */
export function addDoctor(program: Command, terminal: () => Terminal): void {
  program
    .command("doctor")
    .summary("explain a model's RoPE, and how to run it at a length")
    .description(
      "Explain the RoPE of a model: what it is, what transformers, llama.cpp, vLLM, SGLang and MLX do with its keys, what is wrong with them, and the lines to paste for a length. Weights aren't read.",
    )
    .argument(
      "<source>",
      "config.json, .gguf or .safetensors file, folder, URL of one (that of a folder ends in /), or name on the Hub",
    )
    .option(
      "--context <n>",
      "tokens that the model should read, as 100000, 100k or 128K (default: what it is made for)",
      parseTokens(1, 2 ** 30),
    )
    .option(
      "--trained-length <n>",
      "tokens that the model was trained on, for a file that doesn't say so",
      parseTokens(1, 2 ** 30),
    )
    .option("--position-map <map>", `judge it in place of the file's: ${POSITION_MAP}; or none`, parsePositionMap)
    .addHelpText(
      "after",
      `${EXAMPLES}

The exit code is 1 if the file doesn't tell enough for an answer.`,
    )
    .action(async (source: string, { context, positionMap, ...flags }: Flags) => {
      const { diagnose } = await import("../../../doctor.node.js");
      const rw = await load({ threads: 1 });
      const options: DiagnoseOptions = {
        ...(await hubOptions()),
        ...(context !== undefined && { length: context }),
        ...(positionMap !== undefined && { positionMap: mapFrom(positionMap) }),
        ...flags,
      };
      const diagnosis = await diagnose(rw, source, options);
      const shown = terminal();
      if (shown.json) shown.result(diagnosis);
      else shown.print(reportText(shown, diagnosis));
      if (diagnosis.verdict.status === "unknown") process.exitCode = 1;
    });
}
