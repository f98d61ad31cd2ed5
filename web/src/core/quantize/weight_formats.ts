// The formats of weights in files: names, block sizes and lengths in bytes.

/** How the elements of a weight are stored, by ggml's names. */
export type WeightFormatName =
  | "f32"
  | "f16"
  | "bf16"
  | "q8_0"
  | "q4_0"
  | "q4_1"
  | "q5_0"
  | "q5_1"
  | "q2_k"
  | "q3_k"
  | "q4_k"
  | "q5_k"
  | "q6_k"
  | "iq4_nl"
  | "q1_0"
  | "q2_0"
  | "tq1_0"
  | "tq2_0"
  | "mxfp4"
  | "nvfp4"
  | "iq4_xs"
  | "iq3_s"
  | "iq3_xxs"
  | "iq2_s"
  | "iq2_xs"
  | "iq2_xxs"
  | "iq1_s"
  | "iq1_m";

/** The number of elements in a block, and the bytes it takes. @internal */
export interface WeightBlock {
  readonly elements: number;
  readonly bytes: number;
}

const block = (elements: number, bytes: number): WeightBlock => ({ elements, bytes });

/** Block sizes of every format (ggml-common.h). @internal */
export const WEIGHT_BLOCKS: Readonly<Record<WeightFormatName, WeightBlock>> = {
  f32: block(1, 4),
  f16: block(1, 2),
  bf16: block(1, 2),
  q8_0: block(32, 34),
  q4_0: block(32, 18),
  q4_1: block(32, 20),
  q5_0: block(32, 22),
  q5_1: block(32, 24),
  q2_k: block(256, 84),
  q3_k: block(256, 110),
  q4_k: block(256, 144),
  q5_k: block(256, 176),
  q6_k: block(256, 210),
  iq4_nl: block(32, 18),
  q1_0: block(128, 18),
  q2_0: block(64, 18),
  tq1_0: block(256, 54),
  tq2_0: block(256, 66),
  mxfp4: block(32, 17),
  nvfp4: block(64, 36),
  iq4_xs: block(256, 136),
  iq3_s: block(256, 110),
  iq3_xxs: block(256, 98),
  iq2_s: block(256, 82),
  iq2_xs: block(256, 74),
  iq2_xxs: block(256, 66),
  iq1_s: block(256, 50),
  iq1_m: block(256, 56),
};

/** All formats, in the order of the C++ enum WeightFormat. @internal */
export const WEIGHT_FORMATS = Object.keys(WEIGHT_BLOCKS) as WeightFormatName[];

/** Whether this package supports a format. @internal */
export function isWeightFormat(name: string): name is WeightFormatName {
  return Object.hasOwn(WEIGHT_BLOCKS, name);
}

/** Names of ggml's tensor types by number (ggml.h). Unsupported and removed types are here for error messages. @internal */
export const GGML_TYPES: readonly string[] = [
  ...["f32", "f16", "q4_0", "q4_1", "q4_2", "q4_3", "q5_0", "q5_1", "q8_0", "q8_1"],
  ...["q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k", "iq2_xxs", "iq2_xs", "iq3_xxs", "iq1_s"],
  ...["iq4_nl", "iq3_s", "iq2_s", "iq4_xs", "i8", "i16", "i32", "i64", "f64", "iq1_m"],
  ...["bf16", "q4_0_4_4", "q4_0_4_8", "q4_0_8_8", "tq1_0", "tq2_0", "iq4_nl_4_4", "iq4_nl_4_8", "iq4_nl_8_8", "mxfp4"],
  ...["nvfp4", "q1_0", "q2_0", "f8_e4m3"],
];

/**
 * Length of a tensor in bytes. Undefined if its rows aren't whole blocks, or if the length is too large to be exact.
 *
 * @param shape dimensions, outermost first
 * @internal
 */
export function tensorBytes(format: WeightFormatName, shape: readonly number[]): number | undefined {
  const { elements, bytes } = WEIGHT_BLOCKS[format];
  if ((shape.at(-1) ?? 1) % elements !== 0) return undefined;
  const count = elementsOf(shape);
  return count === undefined ? undefined : exactProduct([count / elements, bytes]);
}

/** Number of elements of a tensor. Undefined if it, or the product of the dimensions other than 0, is too large to be exact. @internal */
export function elementsOf(shape: readonly number[]): number | undefined {
  const count = exactProduct(shape.filter((length) => length !== 0));
  return count !== undefined && shape.includes(0) ? 0 : count;
}

/** The product of whole numbers, or undefined if it is too large to be exact. @internal */
export function exactProduct(factors: readonly number[]): number | undefined {
  let product = 1;
  for (const factor of factors) product *= factor; // an inexact product is at least 2^53, and stays so: no factor is 0
  return Number.isSafeInteger(product) ? product : undefined;
}
