// Layouts of weights of four bits in groups: compressed-tensors, GPTQ, AWQ and MLX.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import type { PackedTensor, StoredTensor } from "../stored_tensor.js";
import { tensorBytes } from "../../../core/quantize/weight_formats.js";
import { floatsOf } from "./floats.js";
import { int4Blocks, type Int4Matrix } from "./int4.js";
import type { Packed } from "./packed.js";

/** Codes in a 32-bit word. */
const PER_WORD = 8;

/** AWQ stores the codes of eight columns in this order, from the lowest four bits up. */
const AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7];

type Parts = Readonly<Record<string, PackedTensor | StoredTensor>>;
type Data = Readonly<Record<string, Uint8Array>>;

/** compressed-tensors' `pack-quantized`: codes plus 8 in rows of words, zero points in columns of words. */
export function compressedInt4(packed: Packed): StoredTensor {
  const { main, settings, refuse } = packed;
  const groups = isDict(settings["config_groups"]) ? Object.values(settings["config_groups"]) : [];
  for (const group of groups) {
    const weights = isDict(group) && isDict(group["weights"]) ? group["weights"] : {};
    if (weights["num_bits"] !== 4 && weights["num_bits"] !== 8)
      refuse(`weights of ${show(weights["num_bits"])} bits can't be read, only int of 4 bits and float of 8 bits`);
    if (weights["num_bits"] === 8 && weights["type"] !== "float")
      refuse("int weights of 8 bits can't be read", advise.load({ option: "quantize" }));
  }
  if (packed.part("weight_g_idx") !== undefined) refuse("columns in another order (actorder: group) can't be read");
  const codes = { rows: main.shape[0]!, columns: main.shape[1]! * PER_WORD };
  const scales = packed.floats("weight_scale");
  const zeros = packed.part("weight_zero_point");
  const shape = shapeOf(packed, codes, scales, 1);
  const parts = { codes: main, scales, ...(zeros !== undefined && { zeros }) };
  return weightOf(packed, shape, zeros === undefined ? "q4_0" : "q4_1", parts, (data) => {
    const scale = byRow(data["scales"]!, scales, shape.groups);
    const zeroWords = data["zeros"] && wordsOf(data["zeros"]);
    const zero = (row: number, group: number): number =>
      zeroWords === undefined
        ? 8
        : (zeroWords[Math.floor(row / PER_WORD) * shape.groups + group]! >>> (4 * (row % 8))) & 15;
    return {
      readCodes: codesInRows(wordsOf(data["codes"]!), shape.columns),
      scale,
      minimum: (row, group) => -scale(row, group) * zero(row, group),
    };
  });
}

/** GPTQ: words of eight rows of the transposed matrix. In its first version zero points are stored minus 1. */
export function gptq(packed: Packed): StoredTensor {
  const { main, settings, refuse } = packed;
  if (settings["bits"] !== 4) refuse(`GPTQ weights of ${show(settings["bits"])} bits can't be read, only of 4 bits`);
  if (settings["desc_act"] === true)
    refuse(
      "GPTQ weights with desc_act, whose columns are in another order, can't be read",
      advise.other("use a model without it"),
    );
  const format = settings["checkpoint_format"] ?? "gptq";
  if (format !== "gptq" && format !== "gptq_v2") refuse(`GPTQ weights in the layout ${show(format)} can't be read`);
  const added = format === "gptq_v2" ? 0 : 1;
  const [scales, zeros, order] = [packed.floats("scales"), packed.needed("qzeros"), packed.part("g_idx")];
  const shape = shapeOf(packed, { rows: main.shape[1]!, columns: main.shape[0]! * PER_WORD }, scales, 0);
  const parts = { codes: main, scales, zeros, ...(order !== undefined && { order }) };
  return weightOf(packed, shape, settings["sym"] === false ? "q4_1" : "q4_0", parts, (data) => {
    const groupOf = data["order"] && wordsOf(data["order"]);
    if (groupOf?.some((group, column) => group !== Math.floor(column / shape.groupSize)))
      refuse("GPTQ columns in another order (g_idx) can't be read", advise.other("use a model without desc_act"));
    const words = wordsOf(data["codes"]!);
    const zeroWords = wordsOf(data["zeros"]!);
    const scale = byColumn(data["scales"]!, scales, shape.rows);
    const zero = (row: number, group: number): number =>
      ((zeroWords[group * (shape.rows / PER_WORD) + Math.floor(row / PER_WORD)]! >>> (4 * (row % 8))) & 15) + added;
    return {
      readCodes: (first, count, codes) => {
        for (let word = 0; word < shape.columns / PER_WORD; word++) {
          for (let row = 0; row < count; row++) {
            const value = words[word * shape.rows + first + row]!;
            const at = row * shape.columns + word * PER_WORD;
            for (let i = 0; i < PER_WORD; i++) codes[at + i] = (value >>> (4 * i)) & 15;
          }
        }
      },
      scale,
      minimum: (row, group) => -scale(row, group) * zero(row, group),
    };
  });
}

/** AWQ's `gemm`: the transposed matrix with words of eight columns, in AWQ's order. */
export function awq(packed: Packed): StoredTensor {
  const { main, settings, refuse } = packed;
  const bits = settings["bits"] ?? settings["w_bit"];
  if (bits !== 4) refuse(`AWQ weights of ${show(bits)} bits can't be read, only of 4 bits`);
  const version = String(settings["version"] ?? "gemm").toLowerCase();
  if (version !== "gemm") refuse(`AWQ weights in the layout ${version} can't be read, only gemm`);
  const [scales, zeros] = [packed.floats("scales"), packed.needed("qzeros")];
  const shape = shapeOf(packed, { rows: main.shape[1]! * PER_WORD, columns: main.shape[0]! }, scales, 0);
  return weightOf(packed, shape, "q4_1", { codes: main, scales, zeros }, (data) => {
    const [words, zeroWords] = [wordsOf(data["codes"]!), wordsOf(data["zeros"]!)];
    const wordsInRow = shape.rows / PER_WORD;
    const scale = byColumn(data["scales"]!, scales, shape.rows);
    const shifts = Array.from({ length: PER_WORD }, (_, row) => 4 * AWQ_ORDER.indexOf(row));
    const codeAt = (all: Uint32Array, line: number, row: number): number =>
      (all[line * wordsInRow + Math.floor(row / PER_WORD)]! >>> shifts[row % PER_WORD]!) & 15;
    return {
      readCodes: (first, count, codes) => {
        for (let column = 0; column < shape.columns; column++)
          for (let row = 0; row < count; row++)
            codes[row * shape.columns + column] = codeAt(words, column, first + row);
      },
      scale,
      minimum: (row, group) => -scale(row, group) * codeAt(zeroWords, group, row),
    };
  });
}

/** MLX's affine groups: codes in rows of words, element = scale · code + bias. */
export function mlx(packed: Packed): StoredTensor {
  const { main, stem, settings, refuse } = packed;
  const own = settings[stem];
  const { bits, group_size: groupSize, mode = "affine" } = { ...settings, ...(isDict(own) ? own : {}) };
  if (bits !== 4 || mode !== "affine")
    refuse(`MLX weights of ${show(bits)} bits (${show(mode)}) can't be read, only "affine" ones of 4 bits`);
  const [scales, biases] = [packed.floats("scales"), packed.floats("biases")];
  const shape = shapeOf(packed, { rows: main.shape[0]!, columns: main.shape[1]! * PER_WORD }, scales, 1);
  if (groupSize !== shape.groupSize)
    refuse(`groups must have ${show(groupSize)} elements by config.json (got ${shape.groupSize})`);
  return weightOf(packed, shape, "q4_1", { codes: main, scales, biases }, (data) => ({
    readCodes: codesInRows(wordsOf(data["codes"]!), shape.columns),
    scale: byRow(data["scales"]!, scales, shape.groups),
    minimum: byRow(data["biases"]!, biases, shape.groups),
  }));
}

interface Shape {
  readonly rows: number;
  readonly columns: number;
  readonly groups: number;
  readonly groupSize: number;
}

/** Checks the shapes of codes and scales. `axis` is that of the groups in the scales. */
function shapeOf(
  { main, refuse }: Packed,
  { rows, columns }: { rows: number; columns: number },
  scales: StoredTensor,
  axis: 0 | 1,
): Shape {
  const groups = scales.shape[axis] ?? 0;
  const groupSize = columns / groups;
  const isMatrix = main.shape.length === 2 && scales.shape.length === 2 && scales.shape[1 - axis] === rows;
  if (!isMatrix || rows % PER_WORD !== 0)
    refuse(`shapes ${main.shape.join(" × ")} and ${scales.shape.join(" × ")} of codes and scales don't fit each other`);
  if (!Number.isInteger(groupSize) || groupSize % 32 !== 0)
    refuse(`groups must have a multiple of 32 elements (${columns} columns have ${groups} scales)`);
  return { rows, columns, groups, groupSize };
}

function weightOf(
  { main, stem, refuse }: Packed,
  { rows, columns, groups, groupSize }: Shape,
  format: "q4_0" | "q4_1",
  parts: Parts,
  read: (data: Data) => Pick<Int4Matrix, "readCodes" | "scale" | "minimum">,
): StoredTensor {
  const zeros = parts["zeros"];
  if (zeros !== undefined && zeros.bytes !== 4 * groups * (rows / PER_WORD))
    refuse(`has ${zeros.bytes} bytes of zero points, but ${rows} × ${groups} take ${(4 * groups * rows) / PER_WORD}`);
  const biases = parts["biases"];
  if (biases !== undefined && biases.shape.join() !== [rows, groups].join())
    refuse(`needs biases of shape ${rows} × ${groups} (got ${biases.shape.join(" × ")})`);
  if (parts["order"] !== undefined && parts["order"].bytes !== 4 * columns)
    refuse(`needs a g_idx of ${columns} integers of 32 bits`);
  return {
    name: `${stem}.weight`,
    format,
    shape: [rows, columns],
    file: main.file,
    offset: main.offset,
    bytes: tensorBytes(format, [rows, columns])!,
    packing: {
      parts,
      decode: (data) => int4Blocks({ rows, columns, groupSize, ...read(data) }, format, refuse),
    },
  };
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

function codesInRows(words: Uint32Array, columns: number): Int4Matrix["readCodes"] {
  return (first, count, codes) => {
    const from = (first * columns) / PER_WORD;
    for (let word = 0; word < (count * columns) / PER_WORD; word++) {
      const value = words[from + word]!;
      for (let i = 0; i < PER_WORD; i++) codes[word * PER_WORD + i] = (value >>> (4 * i)) & 15;
    }
  };
}

type Numbers = (row: number, group: number) => number;

/** Numbers stored as [rows][groups]. */
function byRow(bytes: Uint8Array, { format }: StoredTensor, groups: number): Numbers {
  const values = floatsOf(bytes, format);
  return (row, group) => values[row * groups + group]!;
}

/** Numbers stored as [groups][rows]. */
function byColumn(bytes: Uint8Array, { format }: StoredTensor, rows: number): Numbers {
  const values = floatsOf(bytes, format);
  return (row, group) => values[group * rows + row]!;
}
