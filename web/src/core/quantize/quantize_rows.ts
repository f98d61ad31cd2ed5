// Quantizes rows of weights outside wasm memory.
import type { OwnBytes } from "../base/platform_types.js";
import { codeIn, wholeNumber } from "../base/checks.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { typedArrayName } from "../base/typed_arrays.js";
import { WEIGHT_BLOCKS, WEIGHT_FORMATS } from "./weight_formats.js";
import type { Heap } from "../memory/heap.js";

/** The formats of rows, and their length. */
export interface QuantizeRowsOptions {
  /** Format of the rows. */
  from: "f32" | "f16" | "bf16";
  /** Format of the result. */
  to: "f32" | "f16" | "bf16" | "q8_0" | "q4_0" | "q5_0" | "q4_k" | "q6_k";
  /** Elements of a row, a multiple of 32, or of 256 for `q4_k` and `q6_k`. */
  columns: number;
}

const OPTIONS = optionNames<QuantizeRowsOptions>("quantizeRows()", { from: true, to: true, columns: true });

/** @internal */
export function quantizeRows(heap: Heap, rows: Uint8Array, options: QuantizeRowsOptions): OwnBytes {
  const { from, to, columns } = checkOptions(options, OPTIONS);
  const source = codeIn(WEIGHT_FORMATS, from, "from");
  const target = codeIn(WEIGHT_FORMATS, to, "to");
  const { elements, bytes } = WEIGHT_BLOCKS[to];
  wholeNumber(columns, 1, 2 ** 30, "columns");
  if (columns % elements !== 0)
    fail("INVALID_SHAPE", "columns", `must be a multiple of ${elements} for ${to} (got ${columns})`);
  if (typedArrayName(rows) !== "Uint8Array") fail("INVALID_ARGUMENT", "rows", "must be a Uint8Array");
  const count = rows.length / columns / WEIGHT_BLOCKS[from].bytes;
  if (!Number.isInteger(count)) fail("INVALID_SHAPE", "rows", `must be whole rows (got ${count})`);
  const resultBytes = ((count * columns) / elements) * bytes;
  return heap.borrow(rows.length + resultBytes, (address) => {
    const result = address + rows.length;
    heap.bytes(address, rows.length).set(rows);
    heap.check(heap.module.quantize_rows(source, address, count, columns, target, result));
    return heap.bytes(result, resultBytes).slice();
  });
}
