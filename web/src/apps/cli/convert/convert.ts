// `ropewalk convert`, and its command `pairing`, which permutes the weights of a safetensors file for another pairing.
import * as advise from "../../../core/base/advice.js";
import { type Command, Option } from "commander";
import { fail } from "../../../core/base/errors.js";
import { isFolder, pathOf } from "../../../runtime/files/node_files.js";
import { load } from "../../../index.node.js";
import { convertFile, type PairingChange } from "./pairing.js";
import { configPathOf, type HeadFlags, headsOf, type ModelConfig, pairingOf, readConfig } from "./heads.js";
import { parseInteger } from "../options.js";
import { addQuantize } from "./quantize.js";
import { refuseInputs } from "../command_inputs.js";
import { isUrl } from "../source.js";
import type { ProgressBar } from "../progress_bar.js";
import { type Terminal, withProgress } from "../terminal.js";

interface Flags extends HeadFlags, PairingChange {
  output: string;
  tensors?: string;
}

const EXAMPLES = `
Attention scores don't change if the weights and the pairing of the RoPE change together, so open the new file with
--pairing interleaved (or half). Biases and the norms of heads (q_norm, k_norm) are converted with the projections.
Convert a model in several files file by file.

Examples:
  ropewalk convert pairing model.safetensors --from half --to interleaved -o interleaved.safetensors
  ropewalk convert pairing part.safetensors --from interleaved --to half --heads 32 --kv-heads 8 -o half.safetensors
  ropewalk convert pairing model.safetensors --from half --to interleaved --heads 16 --tensors 'attn\\.w[qk]$' -o out.safetensors`;

/** Adds `ropewalk convert`. */
export function addConvert(program: Command, terminal: () => Terminal): void {
  const pairings = ["half", "interleaved"];
  const command = program
    .command("convert")
    .summary("quantize weights, or convert them to the other pairing")
    .description("Convert the weights of a model.");
  addQuantize(command, terminal);
  command
    .command("pairing")
    .description(
      "Permute the rows of the q and k projections, so that the weights work with the other pairing. Element types don't change.",
    )
    .argument("<file>", ".safetensors file to read")
    .requiredOption("-o, --output <file>", ".safetensors file to write")
    .addOption(new Option("--from <pairing>", "pairing of the input").choices(pairings).makeOptionMandatory())
    .addOption(new Option("--to <pairing>", "pairing of the output").choices(pairings).makeOptionMandatory())
    .option("--heads <n>", "number of query heads (default: from config.json in the same folder)", parseInteger(1))
    .option(
      "--kv-heads <n>",
      "number of key heads (default: from config.json, or as many as query heads)",
      parseInteger(1),
    )
    .option(
      "--head-dim <n>",
      "elements of a head (default: from config.json, or rows of a projection / heads)",
      parseInteger(2),
    )
    .option("--rotary-dim <n>", "rotated elements of a head (default: from config.json, or all)", parseInteger(2))
    .option("--rotary-offset <n>", "first rotated element of a head (default: from config.json, or 0)", parseInteger(0))
    .option(
      "--tensors <regex>",
      "names of the tensors to convert (default: q and k projections, their biases and norms)",
    )
    .addHelpText("after", EXAMPLES)
    .action((input: string, flags: Flags) => convert(terminal(), pathOf(input), flags));
}

async function convert(terminal: Terminal, input: string, flags: Flags): Promise<void> {
  const { from, to, output, tensors } = flags;
  if (from === to) fail("INVALID_ARGUMENT", "--to", `must differ from --from (got ${to})`);
  if (!/\.safetensors$/i.test(output)) fail("INVALID_ARGUMENT", "--output", `must end in .safetensors (got ${output})`);
  await refuseOtherKinds(input);
  const configPath = configPathOf(input);
  await refuseInputs(output, [input, configPath]);
  const pattern = tensors === undefined ? undefined : parsePattern(tensors);
  const config = await readConfig(configPath);
  const heads = headsOf(config, flags);
  const warnings = warningsOf(config, from);
  if (!terminal.json) for (const warning of warnings) terminal.note(`warning: ${warning}`);
  const rw = await load({ threads: 1 });
  const convertInput = (update: ProgressBar["update"]): Promise<string[]> =>
    convertFile(rw, input, output, { from, to }, heads, pattern, update);
  const converted = await withProgress(terminal, `Converting ${input}`, "bytes", convertInput);
  terminal.print(
    `${output}: ${converted.length} tensors from ${from} to ${to} (${converted.slice(0, 2).join(", ")}${converted.length > 2 ? ", …" : ""})`,
  );
  terminal.result({ output, from, to, converted, warnings });
}

async function refuseOtherKinds(input: string): Promise<void> {
  if (isUrl(input))
    fail(
      "INVALID_ARGUMENT",
      input,
      "is a URL, but only local files can be converted",
      advise.other("download the .safetensors file"),
    );
  if (await isFolder(input))
    fail("INVALID_ARGUMENT", input, "is a folder", advise.other("name a .safetensors file in it"));
  if (/\.gguf$/i.test(input))
    fail(
      "INVALID_ARGUMENT",
      input,
      "is a GGUF file, which can't be converted",
      advise.other("use the .safetensors file it was made from"),
    );
}

/** Weights don't contain their pairing, so a wrong --from shows only in config.json. */
function warningsOf(config: ModelConfig | undefined, from: PairingChange["from"]): string[] {
  const pairing = config && pairingOf(config);
  if (pairing === undefined || pairing === from) return [];
  return [
    `by its config.json, this model has ${pairing} pairing; --from ${from} is correct only if the weights were converted before`,
  ];
}

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (cause) {
    fail("INVALID_ARGUMENT", "--tensors", `isn't a valid regular expression: ${(cause as Error).message}`, {
      cause,
    });
  }
}
