import { InvalidArgumentError } from "commander";

/** Reads an option that is a whole number from `least` to `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(
      `Must be a whole number ${most === Number.MAX_SAFE_INTEGER ? `from ${least} up` : `from ${least} to ${most}`}.`,
    );
  };
}

/** Reads an option that is a number from `least` to `most`. */
export function anyNumber(least = -Infinity, most = Infinity): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value) && value >= least && value <= most) return value;
    const range = [
      least > -Infinity ? ` from ${least}` : "",
      most < Infinity ? ` to ${most}` : least > -Infinity ? " up" : "",
    ].join("");
    throw new InvalidArgumentError(`Must be a number${range}.`);
  };
}

/** Reads an option that is a number above `least`. */
export function above(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isFinite(value) && value > least) return value;
    throw new InvalidArgumentError(`Must be a number above ${least}.`);
  };
}

/** Gathers an option that may be given several times. */
export function several<Value>(read: (text: string) => Value): (text: string, before?: Value[]) => Value[] {
  return (text, before = []) => [...before, read(text)];
}
