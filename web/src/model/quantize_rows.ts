// Quantizes rows of weights outside wasm memory.
import { codeIn, wholeNumber } from "../base/checks.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { show } from "../base/show.js";
import { typedArrayName, viewBytes } from "../base/typed_arrays.js";
import { WEIGHT_BLOCKS, WEIGHT_FORMATS } from "../files/weight_formats.js";
import type { Heap } from "../memory/heap.js";
import { MAX_WIDTH } from "./limits.js";

const SOURCES = ["f32", "f16", "bf16"] as const;
const TARGETS = ["f32", "f16", "bf16", "q8_0", "q4_0", "q5_0", "q4_k", "q6_k"] as const;

/** The formats of rows, and their length. */
export interface QuantizeRowsOptions {
  /** Format of the rows. */
  from: (typeof SOURCES)[number];
  /** Format of the result. */
  to: (typeof TARGETS)[number];
  /** Elements of a row, a multiple of 32, or of 256 for `q4_k` and `q6_k`. */
  columns: number;
}

const OPTIONS = optionNames<QuantizeRowsOptions>("quantizeRows()", { from: true, to: true, columns: true });

/** @internal */
export function quantizeRows(heap: Heap, rows: Uint8Array, options: QuantizeRowsOptions): Uint8Array<ArrayBuffer> {
  const { from, to, columns } = checkOptions(options, OPTIONS);
  codeIn(SOURCES, from, "from");
  codeIn(TARGETS, to, "to");
  wholeNumber(columns, 1, MAX_WIDTH, "columns");
  const bytes = typedArrayName(rows) === "Uint8Array" ? viewBytes(rows) : undefined;
  if (bytes === undefined) return fail("INVALID_ARGUMENT", "rows", `must be a Uint8Array (got ${show(rows)})`);
  const { elements, bytes: blockBytes } = WEIGHT_BLOCKS[to];
  if (columns % elements !== 0)
    fail("INVALID_SHAPE", "columns", `must be a multiple of ${elements}, a block of ${to} (got ${columns})`);
  const rowBytes = columns * WEIGHT_BLOCKS[from].bytes;
  const count = bytes.length / rowBytes;
  if (!Number.isInteger(count))
    fail("INVALID_SHAPE", "rows", `must be whole rows of ${rowBytes} bytes (got ${bytes.length} bytes)`);
  const resultBytes = count * (columns / elements) * blockBytes;
  const [source, target] = [from, to].map((name) => WEIGHT_FORMATS.indexOf(name)) as [number, number];
  return heap.borrow(bytes.length, (address) => {
    heap.bytes(address, bytes.length).set(bytes);
    return heap.borrow(resultBytes, (result) => {
      heap.check(heap.module.quantize_rows(source, address, count, columns, target, result), undefined, "rows");
      return heap.bytes(result, resultBytes).slice();
    });
  });
}
