// Node's options for relaxed SIMD.
import { capture } from "./run.mjs";

const FLAG = "--experimental-wasm-relaxed-simd";

/**
 * Whether this Node has relaxed SIMD without a flag, so that load() takes the relaxed build. web/src/core/load/engine.ts asks more, but isn't compiled
 * when a build begins.
 */
export function hasRelaxedSimd() {
  const vector = [0xfd, 0x0c, ...Array(16).fill(0)]; // v128.const
  const body = [0, ...vector, ...vector, 0xfd, 0x80, 0x02, 0x0b]; // i8x16.relaxed_swizzle
  const code = [0x0a, body.length + 2, 1, body.length, ...body];
  return WebAssembly.validate(
    Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0, ...code),
  );
}

/** The flags with which this Node has relaxed SIMD: none, unless it has it only behind a flag. */
export async function relaxedFlags() {
  const isKnown = await capture(process.execPath, [FLAG, "--eval", "0"]).then(
    () => true,
    () => false,
  );
  // Node 20's baseline wasm compiler computes a relaxed dot product wrong (web/src/core/load/engine.ts)
  return isKnown ? [FLAG, "--no-liftoff"] : [];
}
