import { stat } from "node:fs/promises";
import { type Command, Option } from "commander";
import { RopewalkError } from "../errors.js";
import { load } from "../index.node.js";
import { convertFile, type Way } from "./convert_pairing.js";
import { type HeadFlags, headsOf } from "./convert_heads.js";
import { wholeNumber } from "./options.js";
import type { Terminal } from "./terminal.js";

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
    .requiredOption("-o, --output <file>", "where to write; the input is never changed")
    .addOption(new Option("--from <pairing>", "what the weights are for").choices(pairings).makeOptionMandatory())
    .addOption(new Option("--to <pairing>", "what they shall be for").choices(pairings).makeOptionMandatory())
    .option("--heads <n>", "query heads (config.json beside the file)", wholeNumber(1))
    .option("--kv-heads <n>", "key heads (config.json beside the file, or as many as query heads)", wholeNumber(1))
    .option("--head-dim <n>", "elements of a head (config.json, or a projection's rows by its heads)", wholeNumber(2))
    .option("--rotary-dim <n>", "rotated elements of a head (config.json, or all)", wholeNumber(2))
    .option("--rotary-offset <n>", "first rotated element of a head (config.json, or 0)", wholeNumber(0))
    .option("--tensors <regex>", "names of the tensors to convert (q and k projections, their biases and norms)")
    .addHelpText("after", EXAMPLES)
    .action((input: string, flags: Flags) => convert(terminal(), input, flags));
}

async function convert(terminal: Terminal, input: string, flags: Flags): Promise<void> {
  const { from, to, output, tensors } = flags;
  if (from === to) throw new RopewalkError("INVALID_ARGUMENT", "--to", `must be the other pairing, not ${from} again`);
  if (await areSame(input, output)) throw new RopewalkError("INVALID_ARGUMENT", "--output", "is the input itself; name another file");
  const pattern = tensors === undefined ? undefined : parsePattern(tensors);
  const heads = await headsOf(input, flags);
  const rw = await load();
  const bar = terminal.progress(`Converting ${input}`);
  try {
    const converted = await convertFile(rw, input, output, { from, to }, heads, pattern, (done, total) => bar.update(done, total));
    bar.stop();
    terminal.print(
      `${output}: ${converted.length} tensors from ${from} to ${to} (${converted.slice(0, 2).join(", ")}${converted.length > 2 ? ", …" : ""})`,
    );
    terminal.result({ output, from, to, converted });
  } finally {
    bar.stop();
  }
}

async function areSame(input: string, output: string): Promise<boolean> {
  const [a, b] = await Promise.all([input, output].map((path) => stat(path).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (cause) {
    throw new RopewalkError("INVALID_ARGUMENT", "--tensors", `is no regular expression: ${(cause as Error).message}`, { cause });
  }
}
