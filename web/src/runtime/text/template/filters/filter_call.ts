// What filters are given.
import type { Budget } from "../values/budget.js";
import { signature, type Signature } from "../signature.js";
import type { Arguments, Keywords, Value } from "../values/values.js";

/** What a filter gets besides its operand. */
export interface FilterCall {
  /** The values of its parameters. Of a filter without a signature: its arguments. */
  readonly args: Value[];
  readonly keywords: Keywords;
  readonly budget: Budget;
  /** Applies another filter, or a test, by its name. */
  applyFilter(name: Value, operand: Value, args: Arguments, keywords: Keywords): Value;
  applyTest(name: Value, operand: Value, args: Arguments, keywords: Keywords): boolean;
}

export interface Filter {
  /** Undefined: it takes any arguments. */
  readonly parameters: Signature | undefined;
  run(operand: Value, call: FilterCall): Value;
}

/** A filter with parameters in Python's notation, such as `width=4, first=False`. */
export function filter(parameters: string | undefined, run: Filter["run"]): Filter {
  return { parameters: parameters === undefined ? undefined : signature(parameters), run };
}
