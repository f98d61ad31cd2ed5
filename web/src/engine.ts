import { RopewalkError } from "./errors.js";

// A function that uses the instructions named, on zeros, and drops the result. Validating it tells whether the engine has exactly these:
// engines have shipped some relaxed instructions before others.
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x04, 0x01, 0x60, 0x00, 0x00, 0x03, 0x02, 0x01, 0x00];
const ZEROS = [0x41, 0x00, 0xfd, 0x11]; // i32.const 0, i32x4.splat
const DROP_END = [0x1a, 0x0b];

function probe(instructions: number[]): boolean {
  const body = [0x00, ...instructions, ...DROP_END];
  return typeof WebAssembly === "object" && WebAssembly.validate(new Uint8Array([...HEADER, 0x0a, body.length + 2, 0x01, body.length, ...body]));
}

/** simd128, by f32x4.mul. */
export function hasSimd(): boolean {
  return probe([...ZEROS, ...ZEROS, 0xfd, 0xe6, 0x01]);
}

/** f32x4.relaxed_madd and f32x4.relaxed_nmadd, all that the relaxed build uses beyond simd128. */
export function hasRelaxedSimd(): boolean {
  return probe([...ZEROS, ...ZEROS, ...ZEROS, 0xfd, 0x85, 0x02, ...ZEROS, ...ZEROS, 0xfd, 0x86, 0x02]);
}

/** Raises what an engine without SIMD needs to be told. */
export function requireSimd(): void {
  if (!hasSimd()) {
    throw new RopewalkError(
      "UNSUPPORTED_ENGINE",
      "",
      "this engine has no wasm SIMD (simd128): it needs Chrome 91, Firefox 89, Safari 16.4, Node 16.4 or later",
    );
  }
}
