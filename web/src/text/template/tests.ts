// Tests of templates: `value is defined`.
import type { Budget } from "./budget.js";
import { FILTERS } from "./filters.js";
import { applyOperator } from "./operators.js";
import {
  type Arguments,
  Callable,
  Float,
  Generator,
  integerOf,
  Markup,
  numberOf,
  stringOf,
  Undefined,
  type Value,
  View,
} from "./values.js";

type Test = (operand: Value, args: Arguments, budget: Budget) => boolean;

const isContainer = (value: Value): boolean =>
  Array.isArray(value) || value instanceof Map || value instanceof Undefined || stringOf(value) !== undefined;

function comparing(operator: string): Test {
  return (operand, [other], budget) => {
    if (other === undefined) throw new TypeError(`the test ${operator} needs a value to compare with`);
    return applyOperator(operator, operand, other, budget) === true;
  };
}

const [equal, unequal, less, greater, atMost, atLeast] = ["==", "!=", "<", ">", "<=", ">="].map(comparing) as [
  Test,
  Test,
  Test,
  Test,
  Test,
  Test,
];

const inCase =
  (change: (text: string) => string): Test =>
  (operand, _args, budget) => {
    budget.read(operand);
    const text = stringOf(operand) ?? "";
    return text === change(text) && text.toLowerCase() !== text.toUpperCase();
  };

const TESTS: Readonly<Record<string, Test>> = {
  boolean: (operand) => typeof operand === "boolean",
  callable: (operand) => operand instanceof Callable,
  defined: (operand) => !(operand instanceof Undefined),
  divisibleby: (operand, [by]) => integerOf(operand, "the value") % integerOf(by ?? null, "the divisor") === 0,
  eq: equal,
  equalto: equal,
  "==": equal,
  escaped: (operand) => operand instanceof Markup,
  even: (operand) => numberOf(operand) !== undefined && numberOf(operand)! % 2 === 0,
  false: (operand) => operand === false,
  filter: (operand) => FILTERS.has(stringOf(operand) ?? ""),
  float: (operand) => operand instanceof Float,
  ge: atLeast,
  gt: greater,
  greaterthan: greater,
  ">": greater,
  ">=": atLeast,
  in: comparing("in"),
  integer: (operand) => typeof operand === "number",
  iterable: (operand) => isContainer(operand) || operand instanceof View || operand instanceof Generator,
  le: atMost,
  lt: less,
  lessthan: less,
  "<": less,
  "<=": atMost,
  lower: inCase((text) => text.toLowerCase()),
  mapping: (operand) => operand instanceof Map,
  ne: unequal,
  "!=": unequal,
  none: (operand) => operand === null,
  number: (operand) => numberOf(operand) !== undefined,
  odd: (operand) => numberOf(operand) !== undefined && Math.abs(numberOf(operand)! % 2) === 1,
  sameas: (operand, [other]) => operand === other,
  sequence: isContainer,
  string: (operand) => stringOf(operand) !== undefined,
  test: (operand) => Object.hasOwn(TESTS, stringOf(operand) ?? ""),
  true: (operand) => operand === true,
  undefined: (operand) => operand instanceof Undefined,
  upper: inCase((text) => text.toUpperCase()),
};

/** @throws SyntaxError: there is no such test */
export function applyTest(name: string, operand: Value, args: Arguments, budget: Budget): boolean {
  const test = Object.hasOwn(TESTS, name) ? TESTS[name] : undefined;
  if (test === undefined) throw new SyntaxError(`No test named '${name}'`);
  return test(operand, args, budget);
}
