// `ropewalk convert quantize`: writes a GGUF file with quantized weights.
import * as advise from "../../../core/base/advice.js";
import { type Command, Option } from "commander";
import { fail } from "../../../core/base/errors.js";
import { openModel } from "../../../runtime/files/model_files.js";
import { pathOf } from "../../../runtime/files/node_files.js";
import { nodeFilePlatform } from "../../../runtime/files/platform.node.js";
import { load, QUANTIZE_FORMATS, type QuantizeFormat } from "../../../index.node.js";
import { formatBytes } from "../format.js";
import { hubOptions } from "../hub_options.js";
import { refuseInputs } from "../command_inputs.js";
import { writeFileAtomically } from "../output_file.js";
import { fallbackWarnings, parseQuantizeFormat } from "../quantize_option.js";
import { isUrl } from "../source.js";
import { type Terminal, withProgress } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";
import { type GgufPlan, writeGguf } from "./gguf_plan.js";
import { planGguf } from "./quantize_gguf.js";
import { planSafetensors } from "./quantize_safetensors.js";

interface Flags extends ThreadFlags {
  to: QuantizeFormat;
}

const EXAMPLES = `
Matrices in f32, f16 and bf16 are rounded, with the bits of llama-quantize on x86-64. Vectors, routers, and tensors that
are quantized already are copied. q4_k isn't mixed with other formats by layer, as it is in Q4_K_M.

Examples:
  ropewalk convert quantize model-f16.gguf model-q8_0.gguf --to q8_0
  ropewalk convert quantize ./qwen3-0.6b qwen3-0.6b-q4_k.gguf --to q4_k`;

/** Adds `ropewalk convert quantize`. */
export function addQuantize(convert: Command, terminal: () => Terminal): void {
  convert
    .command("quantize")
    .description(
      "Write a GGUF file with quantized weights, which llama.cpp reads too. Models of the Llama and Qwen families can be in safetensors.",
    )
    .argument("<input>", "GGUF file, folder with safetensors and config.json, or name of either on the Hub")
    .argument("<output>", ".gguf file to write")
    .addOption(
      new Option("--to <format>", `format of the weights: ${QUANTIZE_FORMATS.join(", ")}`)
        .argParser(parseQuantizeFormat)
        .makeOptionMandatory(),
    )
    .addOption(threadOption())
    .addHelpText("after", EXAMPLES)
    .action((input: string, output: string, flags: Flags) => quantize(terminal(), pathOf(input), output, flags));
}

async function quantize(terminal: Terminal, input: string, output: string, { to, threads }: Flags): Promise<void> {
  if (isUrl(input))
    fail(
      "INVALID_ARGUMENT",
      input,
      "is a URL, but only local files can be converted",
      advise.other("download the model"),
    );
  if (!/\.gguf$/i.test(output)) fail("INVALID_ARGUMENT", "output", `must end in .gguf (got ${output})`);
  await refuseInputs(output, [input], "output");
  const files = await openModel(nodeFilePlatform, input, await hubOptions());
  const rw = await load({ threads });
  const { plan, warnings } =
    files.kind === "gguf"
      ? { plan: await planGguf(files, input, to), warnings: [] as string[] }
      : await planSafetensors(rw, files, to);
  const counts = countsOf(plan, input);
  warnings.push(
    ...fallbackWarnings(
      to,
      [...files.tensors.values()].map(({ format }) => format),
      Object.keys(counts),
    ),
  );
  if (!terminal.json) for (const warning of warnings) terminal.note(`warning: ${warning}`);
  let bytes = 0;
  await withProgress(terminal, `Quantizing ${input}`, "bytes", (update) =>
    writeFileAtomically(
      output,
      async (file, signal) => {
        bytes = await writeGguf(rw, files, plan, file, signal, update);
      },
      "output",
    ),
  );
  const parts = Object.entries(counts).map(([format, count]) => `${count} in ${format}`);
  terminal.print(`${output}: ${plan.tensors.length} tensors (${parts.join(", ")}), ${formatBytes(bytes)}`);
  terminal.result({ output, to, tensors: counts, bytes, warnings });
}

/** Number of tensors by format, most frequent first. */
function countsOf({ tensors }: GgufPlan, input: string): Record<string, number> {
  if (tensors.every(({ format, parts }) => parts.every(({ tensor }) => tensor.format === format)))
    fail(
      "INVALID_ARGUMENT",
      input,
      "has no matrices in f32, f16 or bf16",
      advise.other("use the file that it was made from"),
    );
  const counts: Record<string, number> = {};
  for (const { format } of tensors) counts[format] = (counts[format] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort(([, a], [, b]) => b - a));
}
