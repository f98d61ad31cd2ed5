// Layouts of weights in 8-bit floats: scales for a tensor, for each row, or for blocks.
import { show } from "../../../core/base/show.js";
import type { StoredTensor } from "../stored_tensor.js";
import { floatsOf } from "./floats.js";
import { bfloat16Rows } from "./fp8.js";
import type { Packed } from "./packed.js";

const DEFAULT_BLOCK = [128, 128];

/** E4M3 codes, multiplied by `weight_scale` (compressed-tensors) or `weight_scale_inv` (DeepSeek, which multiplies by it too). */
export function fp8({ main, stem, settings, part, refuse }: Packed): StoredTensor {
  const scales = part("weight_scale_inv") ?? part("weight_scale");
  if (scales === undefined || !("format" in scales))
    return refuse("needs the tensor weight_scale or weight_scale_inv in F32, F16 or BF16");
  const [rows, columns] = main.shape as [number, number];
  if (main.shape.length !== 2) refuse(`8-bit floats must be a matrix (got shape ${main.shape.join(" × ")})`);
  const block = blockOf(scales, rows, columns, settings["weight_block_size"] ?? DEFAULT_BLOCK);
  if (block === undefined)
    return refuse(
      `${scales.shape.join(" × ")} scales don't fit ${rows} × ${columns} elements, nor blocks of ${show(settings["weight_block_size"] ?? DEFAULT_BLOCK)}`,
    );
  return {
    name: `${stem}.weight`,
    format: "bf16",
    shape: [rows, columns],
    file: main.file,
    offset: main.offset,
    bytes: 2 * main.bytes,
    packing: {
      parts: { codes: main, scales },
      decode: (data) => bfloat16Rows(data["codes"]!, columns, floatsOf(data["scales"]!, scales.format), block),
    },
  };
}

/** The elements that share a scale: all, those of a row, or a block. Undefined if the number of scales is another one. */
function blockOf(
  { shape }: StoredTensor,
  rows: number,
  columns: number,
  blockSize: unknown,
): { blockRows: number; blockColumns: number } | undefined {
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (count === 1) return { blockRows: rows, blockColumns: columns };
  if (count === rows && shape[0] === rows) return { blockRows: 1, blockColumns: columns };
  const [blockRows, blockColumns] = Array.isArray(blockSize) ? (blockSize as unknown[]) : [];
  if (!isSize(blockRows) || !isSize(blockColumns)) return undefined;
  const isBlocks = shape[0] === Math.ceil(rows / blockRows) && shape[1] === Math.ceil(columns / blockColumns);
  return isBlocks ? { blockRows, blockColumns } : undefined;
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0;
}
