// Node's options for relaxed SIMD.
import { capture } from "./run.mjs";

const FLAG = "--experimental-wasm-relaxed-simd";

/** The flags with which this Node has relaxed SIMD: none, unless it has it only behind a flag. */
export async function relaxedFlags() {
  const isKnown = await capture(process.execPath, [FLAG, "--eval", "0"]).then(
    () => true,
    () => false,
  );
  // Node 20's baseline wasm compiler computes a relaxed dot product wrong (web/src/load/engine.ts)
  return isKnown ? [FLAG, "--no-liftoff"] : [];
}
