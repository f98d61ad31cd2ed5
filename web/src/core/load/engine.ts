// Detects wasm SIMD and relaxed SIMD.
import * as advise from "../base/advice.js";
import { fail } from "../base/errors.js";

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

// A module with one function, which applies the instructions to zeros and drops the result. Validating it tells whether the engine has exactly
// these instructions: engines have shipped some relaxed instructions before others.
const HEADER = [...MAGIC, 0x01, 0x04, 0x01, 0x60, 0x00, 0x00, 0x03, 0x02, 0x01, 0x00];
const ZEROS = [0x41, 0x00, 0xfd, 0x11]; // i32.const 0, i32x4.splat
const DROP_END = [0x1a, 0x0b];

function probe(instructions: number[]): boolean {
  const body = [0x00, ...instructions, ...DROP_END];
  return (
    typeof WebAssembly === "object" &&
    WebAssembly.validate(new Uint8Array([...HEADER, 0x0a, body.length + 2, 0x01, body.length, ...body]))
  );
}

/** Whether the engine has simd128. Probes f32x4.mul. */
export function hasSimd(): boolean {
  return probe([...ZEROS, ...ZEROS, 0xfd, 0xe6, 0x01]);
}

/**
 * Whether the engine has f32x4.relaxed_madd, f32x4.relaxed_nmadd and i32x4.relaxed_dot_i8x16_i7x16_add_s: all that the relaxed build uses in
 * addition to simd128.
 */
export function hasRelaxedSimd(): boolean {
  const ontoResult = [0x85, 0x86, 0x93].flatMap((opcode) => [...ZEROS, ...ZEROS, 0xfd, opcode, 0x02]);
  return probe([...ZEROS, ...ontoResult]) && relaxedDotIsCorrect();
}

/** Whether 127·1 + 1·63 + (−1)·64 + (−128)·0 + 5 gives 131. In Node 20, behind a flag, V8's baseline compiler (Liftoff) gets it wrong. */
function relaxedDotIsCorrect(): boolean {
  const splat = (...bytes: number[]): number[] => [0xfd, 0x0c, ...Array.from({ length: 16 }, (_, i) => bytes[i % 4]!)];
  const operands = [...splat(127, 1, 0xff, 0x80), ...splat(1, 63, 64, 0), ...splat(5, 0, 0, 0)];
  const body = [0x00, ...operands, 0xfd, 0x93, 0x02, 0xfd, 0x1b, 0x00, 0x0b]; // ends with i32x4.extract_lane 0
  const sections = [
    0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7f, 0x03, 0x02, 0x01, 0x00, 0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00,
  ]; // exports f: () -> i32
  const bytes = new Uint8Array([...MAGIC, ...sections, 0x0a, body.length + 2, 0x01, body.length, ...body]);
  try {
    return (new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports["f"] as () => number)() === 131;
  } catch {
    return false; // the page isn't allowed to compile wasm; load() reports that
  }
}

/** Throws UNSUPPORTED_ENGINE if the engine has no simd128. */
export function requireSimd(): void {
  if (!hasSimd()) {
    fail(
      "UNSUPPORTED_ENGINE",
      "",
      "this engine has no wasm SIMD (simd128)",
      advise.other("use Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or later"),
    );
  }
}
