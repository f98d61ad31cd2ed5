// Writes weights of 8-bit floats (E4M3) with scales as bf16.
import { bfloat16Of } from "./floats.js";

/** Values of E4M3 without infinities: 4 bits of exponent with a bias of 7, 3 of mantissa; 0x7F is NaN. */
const VALUES = Float64Array.from({ length: 256 }, (_, code) => {
  const exponent = (code >> 3) & 15;
  const mantissa = code & 7;
  const sign = code & 128 ? -1 : 1;
  if ((code & 127) === 127) return NaN;
  return sign * (exponent === 0 ? mantissa * 2 ** -9 : (8 + mantissa) * 2 ** (exponent - 10));
});

const BATCH_BYTES = 1 << 21;

/**
 * Yields rows of bf16: value · scale, rounded to f32 and then to bf16, as transformers dequantizes them.
 *
 * @param scales - one for each `blockRows` × `blockColumns` elements, by rows
 * @internal
 */
export function* bfloat16Rows(
  codes: Uint8Array,
  columns: number,
  scales: Float32Array,
  { blockRows, blockColumns }: { blockRows: number; blockColumns: number },
): Generator<Uint8Array> {
  const scalesPerRow = Math.ceil(columns / blockColumns);
  const rows = codes.length / columns;
  const batch = Math.max(1, Math.floor(BATCH_BYTES / (2 * columns)));
  for (let first = 0; first < rows; first += batch) {
    const count = Math.min(batch, rows - first);
    const out = new Uint16Array(count * columns);
    for (let row = 0; row < count; row++) {
      const scaleRow = Math.floor((first + row) / blockRows) * scalesPerRow;
      const from = (first + row) * columns;
      for (let column = 0; column < columns; column++) {
        const scale = scales[scaleRow + Math.floor(column / blockColumns)]!;
        out[row * columns + column] = bfloat16Of(VALUES[codes[from + column]!]! * scale);
      }
    }
    yield new Uint8Array(out.buffer);
  }
}
