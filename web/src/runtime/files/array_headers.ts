// Headers of .npy and .safetensors files.

/** The array in a .npy file, in row-major order. */
export interface NpyArray {
  /** NumPy's names of little-endian numbers. */
  descr: "<f2" | "<f4" | "<f8" | "<i4" | "|u1";
  shape: readonly number[];
}

/** NumPy aligns the data to this many bytes, so that it can be memory-mapped. */
const NPY_ALIGNMENT = 64;

/**
 * The header of a .npy file, version 1.0: magic, version, 16-bit length of the rest, and a Python dict padded with
 * spaces.
 * @see https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
export function npyHeader({ descr, shape }: NpyArray): Uint8Array {
  const dict = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  const dictOffset = 10;
  const length = Math.ceil((dictOffset + dict.length + 1) / NPY_ALIGNMENT) * NPY_ALIGNMENT - dictOffset;
  const text = dict.padEnd(length - 1) + "\n";
  return Uint8Array.from([0x93, ...bytesOf("NUMPY"), 1, 0, length & 0xff, length >> 8, ...bytesOf(text)]);
}

/** A tensor in the header of a .safetensors file. */
export interface SafetensorsTensor {
  dtype: string;
  shape: readonly number[];
  /** Byte range, counted from the end of the header. */
  data_offsets: readonly [begin: number, end: number];
}

/** The header of a .safetensors file: its length and JSON, padded so that the data begins at a multiple of 8 bytes. */
export function safetensorsHeader(
  tensors: Readonly<Record<string, SafetensorsTensor>>,
  metadata?: Readonly<Record<string, string>>,
): Uint8Array {
  const json = new TextEncoder().encode(
    JSON.stringify({ ...(metadata !== undefined && { __metadata__: metadata }), ...tensors }),
  );
  const bytes = new Uint8Array(8 + Math.ceil(json.length / 8) * 8).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(bytes.length - 8), true);
  bytes.set(json, 8);
  return bytes;
}

function bytesOf(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0));
}
