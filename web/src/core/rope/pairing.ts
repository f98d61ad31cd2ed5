// Converts projection weights from one pairing to the other.
import { show } from "../base/show.js";
import type { Pairing } from "../config/types.js";
import { PAIRINGS } from "../config/types.js";
import type { ElementArray } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { sliceOf, typedArrayLength, typedArrayName, viewBytes } from "../base/typed_arrays.js";
import type { Heap } from "../memory/heap.js";

const WEIGHT_PAIRINGS: readonly Pairing[] = ["half", "interleaved"];

/** Shape of a q or k projection, and the direction of the conversion. */
export interface ConvertPairingOptions {
  /** Number of heads of this projection (key heads for k). */
  heads: number;
  head_dim: number;
  /** Number of rotated elements per head. Default: `head_dim`. */
  rotary_dim?: number;
  /** Index of the first rotated element. Default: 0. */
  rotary_offset?: number;
  from: Exclude<Pairing, "interleaved_to_half">;
  to: Exclude<Pairing, "interleaved_to_half">;
}

const OPTIONS = optionNames<ConvertPairingOptions>("convertPairing()", {
  heads: true,
  head_dim: true,
  rotary_dim: true,
  rotary_offset: true,
  from: true,
  to: true,
});

/**
 * Permutes the rows of a projection [heads · head_dim, columns], or the elements of a bias, within the rotary span of each head.
 * @internal
 */
export function convertPairing<Weights extends ElementArray>(
  heap: Heap,
  weights: Weights,
  options: ConvertPairingOptions,
): Weights {
  const { heads, head_dim, rotary_dim = head_dim, rotary_offset = 0, from, to } = checkOptions(options, OPTIONS);
  for (const [name, value] of Object.entries({ heads, head_dim, rotary_dim, rotary_offset })) {
    const least = name === "rotary_offset" ? 0 : 1;
    if (!Number.isInteger(value) || value < least)
      fail("INVALID_ARGUMENT", name, `must be an integer of at least ${least} (got ${show(value)})`);
  }
  for (const [name, pairing] of Object.entries({ from, to })) {
    if (!WEIGHT_PAIRINGS.includes(pairing))
      fail("INVALID_ARGUMENT", name, `must be "half" or "interleaved" (got ${show(pairing)})`);
  }
  if (typedArrayName(weights) === undefined)
    fail("INVALID_DTYPE", "weights", `must be a typed array (got ${show(weights)})`);
  const rows = heads * head_dim;
  const count = typedArrayLength(weights);
  if (count === 0 || count % rows !== 0) {
    fail("INVALID_SHAPE", "weights", `must have a multiple of heads · head_dim = ${rows} elements (got ${count})`);
  }
  const columns = count / rows;
  const codes = [from, to].map((pairing) => PAIRINGS.indexOf(pairing)) as [number, number];
  const result = sliceOf(weights);
  const [source, target] = [viewBytes(weights)!, viewBytes(result)!];
  const elementSize = target.length / count;

  // One head at a time, so that a projection of any size needs wasm memory for two heads only.
  const headBytes = target.length / heads;
  heap.borrow(2 * headBytes, (address) => {
    for (let head = 0; head < heads; head++) {
      heap.bytes(address, headBytes).set(source.subarray(head * headBytes, (head + 1) * headBytes));
      const shape = [1, head_dim, columns, rotary_offset, rotary_dim] as const;
      heap.check(heap.module.convert_pairing(address, address + headBytes, elementSize, ...shape, ...codes));
      target.set(heap.bytes(address + headBytes, headBytes), head * headBytes);
    }
  });
  return result;
}
