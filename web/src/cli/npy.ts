/** What a NumPy file holds here: rows of floats, row after row. */
export interface NpyArray {
  /** `<f4` or `<f2`, NumPy's names of little-endian floats. */
  descr: "<f4" | "<f2";
  shape: readonly number[];
}

/** Data begins at a multiple of this, so that a reader can map it. */
const ALIGNMENT = 64;

/**
 * The header of a .npy file, version 1.0: magic, version, the length of what follows in 16 bits, and a Python dict padded with blanks.
 * @see https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
export function npyHeader({ descr, shape }: NpyArray): Uint8Array {
  const dict = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  const begin = 10; // bytes before the dict
  const length = Math.ceil((begin + dict.length + 1) / ALIGNMENT) * ALIGNMENT - begin;
  const text = dict.padEnd(length - 1) + "\n";
  return Uint8Array.from([0x93, ...bytesOf("NUMPY"), 1, 0, length & 0xff, length >> 8, ...bytesOf(text)]);
}

function bytesOf(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0));
}
