// Numbers of tokens as people write them.

/** What a suffix multiplies by, as in vLLM's `--max-model-len`: thousands in lower case, powers of 1024 in upper case. */
const SUFFIXES: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, g: 1e9, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** Digits, in groups of three or not, with a fraction, an exponent or a suffix. */
const COUNT = /^(\d{1,3}(?:([,_ \u00a0\u202f])\d{3})(?:\2\d{3})*|\d+)(?:\.(\d+))?(?:e\+?(\d{1,2})|\s?([kKmMgG]))?$/;

/**
 * Reads a number of tokens: `100000`, `100,000`, `100 000`, `100_000`, `1e5`, `100k` (100,000) and `128K` (131,072, as in vLLM).
 * Undefined for other texts, for what isn't whole, and for a fraction without a suffix: `100.000` may mean either.
 */
export function parseTokenCount(text: string): number | undefined {
  const [, digits, , fraction = "", exponent, suffix] = COUNT.exec(text.trim()) ?? [];
  if (digits === undefined || (fraction !== "" && exponent === undefined && suffix === undefined)) return undefined;
  const scale = suffix === undefined ? 10 ** Number(exponent ?? 0) : SUFFIXES[suffix]!;
  const whole = Number(digits.replace(/\D/g, "") + fraction) * scale;
  const value = whole / 10 ** fraction.length;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** How a number of tokens can be written beside digits alone, for messages. @internal */
export const TOKEN_COUNT_FORMS = "100,000, 100k (thousands) or 128K (times 1,024)";
