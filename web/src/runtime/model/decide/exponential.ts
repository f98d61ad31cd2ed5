// The exponential function with the same bits in every engine: Math.exp() may differ in the last one.

const LN2_HIGH = 0.69314718036912381649; // 33 bits, so that its product with an exponent is exact (fdlibm)
const LN2_LOW = 1.90821492927058770002e-10;
/** Below this, the result is less than the smallest normal number. */
const LEAST = -708;
/** Terms of Taylor's series: the first that is left out is below 2^-56 for |r| <= ln 2 / 2. */
const TERMS = 14;

/** exp(x) of x <= 0, within 2 ulp; 0 below -708. x = n ln 2 + r with |r| <= ln 2 / 2. @internal */
export function exponential(x: number): number {
  if (!(x >= LEAST)) return Number.isNaN(x) ? NaN : 0;
  const n = Math.round(x / Math.LN2);
  const r = x - n * LN2_HIGH - n * LN2_LOW;
  let sum = 1;
  for (let k = TERMS; k > 0; k--) sum = 1 + (r * sum) / k;
  return sum * 2 ** n;
}
