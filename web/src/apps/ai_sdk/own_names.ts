// The names of options that calls have in `providerOptions.ropewalk`.
import type { OptionNames } from "../../core/base/options.js";

/** Where a call has its own options. */
export const OWN = "providerOptions.ropewalk";

/** The path of each own option in a call. */
export function ownNames({ names }: OptionNames): Record<string, string> {
  return Object.fromEntries(Object.keys(names).map((name) => [name, `${OWN}.${name}`]));
}
