// Writes weights of four bits in groups as blocks of q4_0 and q4_1, without rounding the four bits again.
import type { Advised } from "../../../core/base/advice.js";
import { halfOf } from "./floats.js";

/** A matrix of codes from 0 to 15. Element = scale · (code − zero) or scale · code + minimum, with a scale for each group of a row. @internal */
export interface Int4Matrix {
  readonly rows: number;
  readonly columns: number;
  /** Elements of a row that share a scale; a multiple of 32. */
  readonly groupSize: number;
  /** Writes the codes of rows, [count][columns]. */
  readonly readCodes: (first: number, count: number, codes: Uint8Array) => void;
  readonly scale: (row: number, group: number) => number;
  /** What is added: the minimum, or −scale · zero. */
  readonly minimum: (row: number, group: number) => number;
}

const BLOCK = 32;
/** Rows that are decoded together. Some layouts store them next to each other. */
const BATCH_ROWS = 64;

/**
 * Yields rows of q4_0 or q4_1 blocks: the scale in f16, for q4_1 the minimum in f16, and the codes, element i and i + 16 in one byte. q4_0 is
 * for matrices whose minimum is −8 scales. Scales and minimums are rounded to f16 if they don't fit, by 2^-11 of them at most.
 *
 * @param refuse - throws an error with the message
 * @internal
 */
export function* int4Blocks(
  matrix: Int4Matrix,
  format: "q4_0" | "q4_1",
  refuse: (problem: string, advised?: Advised) => never,
): Generator<Uint8Array> {
  const { rows, columns, groupSize, readCodes, scale, minimum } = matrix;
  const lead = format === "q4_0" ? 2 : 4;
  const blockBytes = lead + BLOCK / 2;
  const rowBytes = (columns / BLOCK) * blockBytes;
  const codes = new Uint8Array(BATCH_ROWS * columns);
  for (let first = 0; first < rows; first += BATCH_ROWS) {
    const count = Math.min(BATCH_ROWS, rows - first);
    readCodes(first, count, codes);
    const out = new Uint8Array(count * rowBytes);
    for (let row = 0; row < count; row++) {
      for (let group = 0; group < columns / groupSize; group++) {
        const s = scale(first + row, group);
        const m = minimum(first + row, group);
        const [half, halfMinimum] = [halfOf(s), halfOf(m)];
        if (!Number.isFinite(s) || !Number.isFinite(m) || isInfinite(half) || isInfinite(halfMinimum))
          refuse(`has a scale that f16 can't hold (${s})`);
        if (format === "q4_0" && m !== -8 * s) refuse("has zero points, although its config says that it is symmetric");
        const begin = group * groupSize;
        for (let column = begin; column < begin + groupSize; column += BLOCK) {
          const at = row * rowBytes + (column / BLOCK) * blockBytes;
          out[at] = half & 255;
          out[at + 1] = half >> 8;
          if (format === "q4_1") {
            out[at + 2] = halfMinimum & 255;
            out[at + 3] = halfMinimum >> 8;
          }
          const from = row * columns + column;
          for (let i = 0; i < 16; i++) out[at + lead + i] = codes[from + i]! | (codes[from + i + 16]! << 4);
        }
      }
    }
    yield out;
  }
}

function isInfinite(half: number): boolean {
  return (half & 0x7fff) >= 0x7c00;
}
