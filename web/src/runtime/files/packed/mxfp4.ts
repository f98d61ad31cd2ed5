// The layout of gpt-oss: experts in blocks of 32 floats of four bits with a power of two as their scale (OCP MXFP4).
import type { StoredTensor } from "../stored_tensor.js";
import { tensorBytes } from "../../../core/quantize/weight_formats.js";
import type { Packed } from "./packed.js";

const BLOCK = 32;
const CODE_BYTES = BLOCK / 2;
const BLOCK_BYTES = 1 + CODE_BYTES;
const BATCH_BLOCKS = 1 << 16;

/**
 * Codes of shape [experts, rows, columns / 32, 16] with two neighboring columns in a byte, the first one in its low bits, and exponents plus 127
 * of shape [experts, rows, columns / 32].
 */
export function mxfp4({ main, stem, needed, refuse }: Packed): StoredTensor {
  const scales = needed("scales");
  const [blocksInRow, bytes] = main.shape.slice(-2);
  if (main.shape.length < 3 || bytes !== CODE_BYTES || scales.shape.join() !== main.shape.slice(0, -1).join())
    refuse(`shapes ${main.shape.join(" × ")} and ${scales.shape.join(" × ")} of codes and scales don't fit each other`);
  if (!("dtype" in scales) || scales.dtype !== "U8") refuse("scales must be in U8");
  const shape = [...main.shape.slice(0, -2), blocksInRow! * BLOCK];
  return {
    name: stem,
    format: "mxfp4",
    shape,
    file: main.file,
    offset: main.offset,
    bytes: tensorBytes("mxfp4", shape)!,
    packing: {
      parts: { codes: main, scales },
      decode: (data) => mxfp4Blocks(data["codes"]!, data["scales"]!),
    },
  };
}

/** Yields blocks as ggml has them: the scale, then the codes, element i and i + 16 in one byte. */
function* mxfp4Blocks(codes: Uint8Array, scales: Uint8Array): Generator<Uint8Array> {
  for (let first = 0; first < scales.length; first += BATCH_BLOCKS) {
    const count = Math.min(BATCH_BLOCKS, scales.length - first);
    const out = new Uint8Array(count * BLOCK_BYTES);
    for (let block = 0; block < count; block++) {
      const from = (first + block) * CODE_BYTES;
      const to = block * BLOCK_BYTES;
      out[to] = scales[first + block]!;
      for (let i = 0; i < CODE_BYTES; i += 2) {
        const [low, high] = [codes[from + i / 2]!, codes[from + CODE_BYTES / 2 + i / 2]!];
        out[to + 1 + i] = (low & 15) | ((high & 15) << 4);
        out[to + 2 + i] = (low >> 4) | (high & 0xf0);
      }
    }
    yield out;
  }
}
