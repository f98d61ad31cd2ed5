// Checks that the keys of options objects are known.
import leven from "leven";
import { isDict } from "./dict.js";
import * as advise from "./advice.js";
import type { Advised } from "./advice.js";
import { type Elsewhere, hereIs } from "./elsewhere.js";
import { fail } from "./errors.js";
import { quote, show } from "./show.js";

/** The names of a call's options. @internal */
export interface OptionNames {
  /** The call as messages name it, such as `rotate()`. */
  readonly call: string;
  readonly names: Readonly<Record<string, true>>;
  /** Names of other packages for them. */
  readonly elsewhere?: Elsewhere | undefined;
}

/** The options of a call. The compiler checks that `names` has every key of `Options` and no other. @internal */
export function optionNames<Options extends object>(
  call: string,
  names: { readonly [Name in keyof Required<Options>]: true },
  elsewhere?: Elsewhere,
): OptionNames {
  return { call, elsewhere, names: Object.assign(Object.create(null), names) as Record<string, true> }; // no inherited names
}

/** Options as a call has read them: optional ones may be undefined. @internal */
export type Given<Options> = {
  [Name in keyof Options]-?: object extends Pick<Options, Name> ? Options[Name] | undefined : Options[Name];
};

/** No options. Shared by all calls without an options object. */
const NONE: object = Object.freeze({});

/**
 * Returns `options`, or an empty object if it is undefined. Throws INVALID_ARGUMENT if it isn't an object, and UNKNOWN_KEY with the nearest name
 * if it has a key that the call doesn't know. Inherited keys count. `path` is the options object in errors, if it isn't the call's own, such
 * as `layers[2]`.
 * @internal
 */
export function checkOptions<Options extends object>(
  options: Options | undefined,
  { call, names, elsewhere }: OptionNames,
  path = "",
): Options {
  if (options === undefined) return NONE as Options;
  if (!isDict(options)) {
    const known = Object.keys(names).join(", ");
    fail(
      "INVALID_ARGUMENT",
      path || "options",
      `must be an object with options of ${call}: ${known} (got ${show(options)})`,
    );
  }
  for (const name in options) if (names[name] !== true) failUnknown(name, { call, names, elsewhere }, path);
  return options;
}

function failUnknown(name: string, { call, names: known, elsewhere = {} }: OptionNames, path: string): never {
  const names = Object.keys(known);
  const shortName = name.slice(0, 60);
  const field = path === "" ? shortName : `${path}.${shortName}`;
  fail(
    "UNKNOWN_KEY",
    field,
    `${quote(name)} isn't an option of ${call}`,
    hereIs(name, elsewhere, names) ?? suggestion(name, names),
  );
}

/** What to use instead of an unknown name. @internal */
export function suggestion(name: string, names: readonly string[]): Advised {
  const near = nearest(name, names, Math.min(name.length, 60) / 2);
  return near === undefined ? advise.choose({ names }) : advise.spell({ name: near });
}

/** The name with the fewest differences, if it has at most `most`. Upper and lower case are the same. @internal */
export function nearest(name: string, names: readonly string[], most: number): string | undefined {
  const short = name.slice(0, 60).toLowerCase();
  const distances = names.map((known) => leven(short, known.toLowerCase()));
  const least = Math.min(...distances);
  return least <= most ? names[distances.indexOf(least)] : undefined;
}
