// `ropewalk table`: writes a table of cosines and sines.
import * as advise from "../../core/base/advice.js";
import { type Command, Option } from "commander";
import { type DType, DTYPES } from "../../core/memory/elements.js";
import { fail } from "../../core/base/errors.js";
import { load } from "../../index.node.js";
import { ROLES, type Role } from "../../core/rope/core.js";
import { type CosSinTable, TABLE_LAYOUTS, type TableLayout } from "../../core/rope/table.js";
import { npyHeader, safetensorsHeader, type SafetensorsTensor } from "../../runtime/files/array_headers.js";
import { refuseInputs } from "./command_inputs.js";
import { parseNumber, parseTokens } from "./options.js";
import { writeFileAtomically } from "./output_file.js";
import { addRopeOptions, ropeOverridesFrom, type RopeFlags } from "./rope_options.js";
import { openRope } from "./source.js";
import type { Terminal } from "./terminal.js";

interface Flags extends RopeFlags {
  output: string;
  length?: number;
  positions?: readonly number[];
  context?: number;
  layout: TableLayout;
  dtype: DType;
  role: Role;
  inverse?: true;
  layerType?: string;
}

const EXAMPLES = `
Files:
  .npy          one array [2, positions, columns]: cos, then sin
  .safetensors  tensors cos and sin [positions, columns], with the config as metadata

Examples:
  ropewalk table config.json --length 4096 -o cos_sin.npy
  ropewalk table config.json --positions 0,1,2,100 --layout half --dtype bf16 -o cos_sin.safetensors
  ropewalk table model.gguf --rope-type yarn --factor 4 --length 16384 -o yarn.npy`;

const MAX_POSITIONS = 2 ** 24;
const SAFETENSORS_DTYPES: Readonly<Record<DType, string>> = { f32: "F32", f16: "F16", bf16: "BF16" };

/** Adds `ropewalk table`. */
export function addTable(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("table")
    .summary("write a table of cosines and sines to a file")
    .description(
      "Write the cosines and sines of a model's rotation angles to a file for other programs. They include the attention factor and are rounded once, from 64-bit floats.",
    )
    .argument("<source>", "config.json, .gguf or .safetensors file, folder, URL of one, or name on the Hub")
    .requiredOption("-o, --output <file>", ".npy or .safetensors file to write")
    .option("--length <n>", "write positions 0 to n−1", parseTokens(1, MAX_POSITIONS))
    .option("--positions <list>", "write these positions instead, for example 0,1,5.5", parsePositions)
    .option(
      "--context <n>",
      "context length, for scalings that depend on it (default: largest position + 1)",
      parseTokens(1),
    )
    .addOption(
      new Option("--layout <layout>", "one column per pair (compact), or one per element")
        .choices(TABLE_LAYOUTS)
        .default("compact"),
    )
    .addOption(new Option("--dtype <type>", "element type").choices(DTYPES).default("f32"))
    .addOption(
      new Option("--role <role>", "for xPos, which scales queries and keys differently")
        .choices(ROLES)
        .default("query"),
    )
    .option("--inverse", "write the inverse rotation")
    .option("--layer-type <kind>", "kind of layer, for models with several RoPEs (default: full_attention)");
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((argument: string, flags: Flags) => writeTable(terminal(), argument, flags));
}

async function writeTable(terminal: Terminal, argument: string, flags: Flags): Promise<void> {
  const { output, layout, dtype, role, inverse = false } = flags;
  const write = writerFor(output, dtype);
  const positions = positionsOf(flags);
  await refuseInputs(output, [argument]);
  const config = await openRope(argument, { overrides: ropeOverridesFrom(flags), layerType: flags.layerType });
  const rope = (await load({ threads: 1 })).rope(config);
  try {
    const options = { layout, dtype, role, inverse, ...(flags.context !== undefined && { seqLen: flags.context }) };
    const table = rope.table(typeof positions === "number" ? positions : Float64Array.from(positions), options);
    await write(table, config);
    const [rows, columns] = table.shape;
    terminal.print(`${output}: cos and sin of ${rows} positions, ${columns} columns (${layout}), ${dtype}`);
    terminal.result({ output, shape: table.shape, layout, dtype, role, inverse, config });
  } finally {
    rope.dispose();
  }
}

function positionsOf({ length, positions }: Flags): number | readonly number[] {
  const chosen = positions ?? length;
  if (chosen === undefined)
    fail("INVALID_ARGUMENT", "--length", "is missing", advise.other("use --length or --positions"));
  if (positions !== undefined && length !== undefined) {
    fail("INVALID_ARGUMENT", "--length", "can't be combined with --positions");
  }
  return chosen;
}

function writerFor(output: string, dtype: DType): (table: CosSinTable, config: object) => Promise<void> {
  if (/\.safetensors$/i.test(output)) return (table, config) => writeSafetensors(output, table, dtype, config);
  if (!/\.npy$/i.test(output)) fail("INVALID_ARGUMENT", "--output", `must end in .npy or .safetensors (got ${output})`);
  if (dtype === "bf16")
    fail(
      "INVALID_ARGUMENT",
      "--dtype",
      "can't be bf16 in a .npy file, because NumPy has no such type",
      advise.other("use f32, f16, or a .safetensors file"),
    );
  return (table) => writeNpy(output, table, dtype);
}

async function writeNpy(output: string, { cos, sin, shape }: CosSinTable, dtype: "f32" | "f16"): Promise<void> {
  await writeFileAtomically(output, async (file) => {
    await file.writeFile(npyHeader({ descr: dtype === "f32" ? "<f4" : "<f2", shape: [2, ...shape] }));
    for (const part of [cos, sin]) await file.writeFile(bytesOf(part));
  });
}

async function writeSafetensors(
  output: string,
  { cos, sin, shape }: CosSinTable,
  dtype: DType,
  config: object,
): Promise<void> {
  const size = cos.byteLength;
  const tensor = (begin: number): SafetensorsTensor => ({
    dtype: SAFETENSORS_DTYPES[dtype],
    shape,
    data_offsets: [begin, begin + size],
  });
  await writeFileAtomically(output, async (file) => {
    const tensors = { cos: tensor(0), sin: tensor(size) };
    await file.writeFile(safetensorsHeader(tensors, { rope_config: JSON.stringify(config) }));
    for (const part of [cos, sin]) await file.writeFile(bytesOf(part));
  });
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Uint16Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function parsePositions(text: string): number[] {
  return text.split(",").map(parseNumber());
}
