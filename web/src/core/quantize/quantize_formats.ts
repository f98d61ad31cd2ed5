// The names of the formats that weights can be quantized to.
import * as advise from "../base/advice.js";
import { fail } from "../base/errors.js";
import { nearest } from "../base/options.js";
import { show } from "../base/show.js";

/** Formats that weights can be quantized to. */
export const QUANTIZE_FORMATS = ["q8_0", "q4_0", "q4_k"] as const;
/** One of {@link QUANTIZE_FORMATS}. */
export type QuantizeFormat = (typeof QUANTIZE_FORMATS)[number];

/** The format, if it is one to quantize to. Throws INVALID_ARGUMENT with the nearest name. @internal */
export function quantizeFormat(value: unknown, field: string): QuantizeFormat {
  if (QUANTIZE_FORMATS.includes(value as QuantizeFormat)) return value as QuantizeFormat;
  const names = QUANTIZE_FORMATS.join(", ");
  const near = typeof value === "string" ? nearest(value, QUANTIZE_FORMATS, 2) : undefined;
  const problem = `must be one of ${names} (got ${show(value)})`;
  return fail("INVALID_ARGUMENT", field, problem, near === undefined ? {} : advise.spell({ name: near }));
}
