// Written by `node examples/arena/docs.mjs`: shares of needles that the small model finds without training, by length as a multiple of the trained one.
/** Shares of facts found at a multiple of the trained length: without a scaling, under YaRN, and under ReRoPE. */
export interface Measured {
  readonly multiple: number;
  readonly none: number;
  readonly yarn: number;
  readonly rerope: number;
}

export const MEASURED: readonly Measured[] = [
  { multiple: 2, none: 0.9, yarn: 1, rerope: 1 },
  { multiple: 4, none: 0.25, yarn: 0.99, rerope: 1 },
  { multiple: 8, none: 0.03, yarn: 1, rerope: 1 },
  { multiple: 16, none: 0, yarn: 0.94, rerope: 1 },
];
