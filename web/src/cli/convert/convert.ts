import { type Command, Option } from "commander";
import { RopewalkError } from "../../base/errors.js";
import { isFolder, pathOf } from "../../files/node_files.js";
import { load } from "../../index.node.js";
import { convertFile, type Way } from "./pairing.js";
import { configBeside, type HeadFlags, headsOf, type ModelConfig, pairingOf, readConfig } from "./heads.js";
import { wholeNumber } from "../options.js";
import { refuseInputs } from "../output_file.js";
import { isAddress } from "../source.js";
import { type Bar, type Terminal, withBar } from "../terminal.js";

interface Flags extends HeadFlags, Way {
  output: string;
  tensors?: string;
}

const EXAMPLES = `
Scores stay the same when q, k and the RoPE change together: open the new file with --pairing interleaved (or half). Norms of single heads
(q_norm, k_norm) and biases are converted with the projections. A model in several files is converted file by file.

Examples:
  ropewalk convert pairing model.safetensors --from half --to interleaved -o interleaved.safetensors
  ropewalk convert pairing part.safetensors --from interleaved --to half --heads 32 --kv-heads 8 -o half.safetensors
  ropewalk convert pairing model.safetensors --from half --to interleaved --heads 16 --tensors 'attn\\.w[qk]$' -o out.safetensors`;

/** `ropewalk convert`: weights from one convention to another. */
export function addConvert(program: Command, terminal: () => Terminal): void {
  const pairings = ["half", "interleaved"];
  program
    .command("convert")
    .summary("move weights from one pairing to the other")
    .description("Changes weights in safetensors files.")
    .command("pairing")
    .description(
      "Permutes the rows of the q and k projections, so that the weights are right for the other pairing. Element types stay as they are.",
    )
    .argument("<file>", "a .safetensors file")
    .requiredOption("-o, --output <file>", "where to write: a .safetensors file; the input is never changed")
    .addOption(new Option("--from <pairing>", "what the weights are for").choices(pairings).makeOptionMandatory())
    .addOption(new Option("--to <pairing>", "what they shall be for").choices(pairings).makeOptionMandatory())
    .option("--heads <n>", "query heads (config.json beside the file)", wholeNumber(1))
    .option("--kv-heads <n>", "key heads (config.json beside the file, or as many as query heads)", wholeNumber(1))
    .option("--head-dim <n>", "elements of a head (config.json, or a projection's rows by its heads)", wholeNumber(2))
    .option("--rotary-dim <n>", "rotated elements of a head (config.json, or all)", wholeNumber(2))
    .option("--rotary-offset <n>", "first rotated element of a head (config.json, or 0)", wholeNumber(0))
    .option("--tensors <regex>", "names of the tensors to convert (q and k projections, their biases and norms)")
    .addHelpText("after", EXAMPLES)
    .action((input: string, flags: Flags) => convert(terminal(), pathOf(input), flags));
}

async function convert(terminal: Terminal, input: string, flags: Flags): Promise<void> {
  const { from, to, output, tensors } = flags;
  if (from === to) throw new RopewalkError("INVALID_ARGUMENT", "--to", `must be the other pairing, not ${from} again`);
  if (!/\.safetensors$/i.test(output))
    throw new RopewalkError("INVALID_ARGUMENT", "--output", `must end in .safetensors (got ${output})`);
  await refuseOtherKinds(input);
  const beside = configBeside(input);
  await refuseInputs(output, [input, beside]);
  const pattern = tensors === undefined ? undefined : parsePattern(tensors);
  const config = await readConfig(beside);
  const heads = headsOf(config, flags);
  const warnings = warningsOf(config, from);
  if (!terminal.json) for (const warning of warnings) terminal.note(`warning: ${warning}`);
  const rw = await load();
  const converting = (update: Bar["update"]): Promise<string[]> =>
    convertFile(rw, input, output, { from, to }, heads, pattern, update);
  const converted = await withBar(terminal, `Converting ${input}`, converting);
  terminal.print(
    `${output}: ${converted.length} tensors from ${from} to ${to} (${converted.slice(0, 2).join(", ")}${converted.length > 2 ? ", …" : ""})`,
  );
  terminal.result({ output, from, to, converted, warnings });
}

async function refuseOtherKinds(input: string): Promise<void> {
  const advice = [
    [
      isAddress(input),
      "is an address, and only files are converted; download the model and give its .safetensors file",
    ],
    [await isFolder(input), "is a folder; give a .safetensors file of it"],
    [/\.gguf$/i.test(input), "is GGUF, which is not converted; give the .safetensors file that it was made from"],
  ].find(([holds]) => holds)?.[1];
  if (advice !== undefined) throw new RopewalkError("INVALID_ARGUMENT", input, String(advice));
}

/** What may be wrong with weights that say nothing of their pairing themselves. */
function warningsOf(config: ModelConfig | undefined, from: Way["from"]): string[] {
  const own = config && pairingOf(config);
  if (own === undefined || own === from) return [];
  return [
    `config.json tells that the pairing of this model is ${own}: --from ${from} is right only for weights that were converted to it before`,
  ];
}

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (cause) {
    throw new RopewalkError("INVALID_ARGUMENT", "--tensors", `is no regular expression: ${(cause as Error).message}`, {
      cause,
    });
  }
}
