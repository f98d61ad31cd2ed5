// Powers of floats, rounded as C libraries round them. Engines of JavaScript may be off in the last bit.

/** Bits after the point of the numbers below. */
const BITS = 256n;
const ONE = 1n << BITS;

/** A positive float as a number with {@link BITS} bits after the point, and a power of two. */
function split(value: number): [bigint, number] {
  let exponent = Math.floor(Math.log2(value));
  let mantissa = value * 2 ** -exponent;
  if (mantissa >= 2) [mantissa, exponent] = [mantissa / 2, exponent + 1];
  if (mantissa < 1) [mantissa, exponent] = [mantissa * 2, exponent - 1];
  return [BigInt(mantissa * 2 ** 52) << (BITS - 52n), exponent];
}

/** ln of a number from 1 to 2: twice the series of the inverse hyperbolic tangent. */
function logarithm(value: bigint): bigint {
  const ratio = ((value - ONE) << BITS) / (value + ONE);
  const square = (ratio * ratio) >> BITS;
  let sum = 0n;
  for (let term = ratio, i = 1n; term !== 0n; term = (term * square) >> BITS, i += 2n) sum += term / i;
  return 2n * sum;
}

let ln2: bigint | undefined;

/** base ** exponent of a positive base. */
export function powerOf(base: number, exponent: number): number {
  const estimate = base ** exponent;
  const isPlain = Number.isFinite(estimate) && estimate > 1e-300 && estimate < 1e300 && base > 1e-300;
  if (!isPlain || exponent === 0 || base === 1) return estimate;
  ln2 ??= logarithm(2n * ONE - 1n);
  const [mantissa, shift] = split(base);
  const [factor, factorShift] = split(Math.abs(exponent));
  const scaled = factorShift >= 0 ? factor << BigInt(factorShift) : factor >> BigInt(-factorShift);
  const size = ((logarithm(mantissa) + BigInt(shift) * ln2) * scaled) >> BITS;
  const power = exponent < 0 ? -size : size;
  let whole = power / ln2;
  if (power < 0n) whole -= 1n;
  const rest = power - whole * ln2;
  let sum = 0n;
  for (let term = ONE, i = 1n; term !== 0n; term = ((term * rest) >> BITS) / i, i += 1n) sum += term;
  return Number(sum >> (BITS - 100n)) * 2 ** (Number(whole) - 100);
}
