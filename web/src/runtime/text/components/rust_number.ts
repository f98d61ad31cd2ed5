// Decimal numbers of a tokenizer.json as Hugging Face's Rust library reads them.

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/**
 * The number that serde_json makes of a decimal: its digits as an f64, times or divided by a power of ten. These are two roundings, so one in four
 * scores of a Unigram vocabulary differs from the nearest f64 in the last bit, which decides between splits that would be equal.
 */
export function asRustReads(value: number): number {
  const [, sign, whole, fraction = "", exponent = "0"] = DECIMAL.exec(String(value))!;
  const digits = Number(whole! + fraction);
  const power = Number(exponent) - fraction.length;
  if (Math.abs(power) > 22) return value; // a power of ten that isn't an f64: no score of a vocabulary
  const read = power < 0 ? digits / 10 ** -power : digits * 10 ** power;
  return sign === "-" ? -read : read;
}
