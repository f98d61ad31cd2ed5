// What filters are given.
import type { Budget } from "./budget.js";
import { type Arguments, firstOf, type Keywords, type Value } from "./values.js";

/** What a filter gets besides its operand. */
export interface FilterCall {
  args: Arguments;
  keywords: Keywords;
  budget: Budget;
  /** Applies another filter, or a test, by its name. */
  applyFilter(name: string, operand: Value, args: Arguments, keywords: Keywords): Value;
  applyTest(name: string, operand: Value, args: Arguments): boolean;
}

export type FilterFunction = (operand: Value, call: FilterCall) => Value;

/** An argument by position or name; undefined if it isn't given. */
export function argument({ args, keywords }: FilterCall, index: number, name: string): Value | undefined {
  return firstOf(args[index], keywords.get(name));
}
