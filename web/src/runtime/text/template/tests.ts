// Tests of templates: `value is defined`.
import type { Budget } from "./values/budget.js";
import { areEqual } from "./values/comparisons.js";
import { FILTERS } from "./filters/filters.js";
import { Float } from "./values/numbers.js";
import { calculate, isTrueFor } from "./operators.js";
import { concatenate } from "./values/python_text.js";
import { bind, signature, type Signature } from "./signature.js";
import type { Comparison } from "./parse/syntax.js";
import { isLower, isUpper } from "./values/text_case.js";
import { numberOf, typeName } from "./values/types.js";
import {
  type Arguments,
  Dict,
  Generator,
  Instance,
  type Keywords,
  Markup,
  stringOf,
  Undefined,
  type Value,
  View,
} from "./values/values.js";

interface Test {
  readonly parameters: Signature;
  run(operand: Value, args: Value[], budget: Budget): boolean;
}

function test(run: Test["run"], parameters = ""): Test {
  return { parameters: signature(parameters), run };
}

const isSequence = (value: Value): boolean =>
  Array.isArray(value) || value instanceof Dict || value instanceof Undefined || stringOf(value) !== undefined;

function comparing(operator: Comparison, parameters = "other, /"): Test {
  return test((operand, [other], budget) => isTrueFor(operator, operand, other!, budget), parameters);
}

const [equal, unequal, less, greater, atMost, atLeast] = (["==", "!=", "<", ">", "<=", ">="] as const).map((operator) =>
  comparing(operator),
) as [Test, Test, Test, Test, Test, Test];

function remainderIs(rest: number, by?: number): Test {
  return test(
    (operand, [given], budget) => areEqual(calculate("%", operand, by ?? given!, budget), rest),
    by === undefined ? "num" : "",
  );
}

function inCase(check: (text: string) => boolean): Test {
  return test((operand, _args, budget) => {
    const text = concatenate([operand], budget);
    budget.read(text);
    return check(text);
  });
}

function named(names: { has(name: string): boolean }): Test {
  return test((operand) => {
    const isHashable = !(Array.isArray(operand) && typeName(operand) === "list") && !(operand instanceof Dict);
    if (!isHashable) throw new TypeError(`unhashable type: '${typeName(operand)}'`);
    return names.has(stringOf(operand) ?? "");
  });
}

const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>(
  Object.entries({
    boolean: test((operand) => typeof operand === "boolean"),
    callable: test(
      (operand) => operand instanceof Undefined || (operand instanceof Instance && operand.parts.call !== undefined),
    ),
    defined: test((operand) => !(operand instanceof Undefined)),
    divisibleby: remainderIs(0),
    eq: equal,
    equalto: equal,
    "==": equal,
    escaped: test((operand) => operand instanceof Markup),
    even: remainderIs(0, 2),
    false: test((operand) => operand === false),
    filter: named(FILTERS),
    float: test((operand) => operand instanceof Float),
    ge: atLeast,
    gt: greater,
    greaterthan: greater,
    ">": greater,
    ">=": atLeast,
    in: comparing("in", "seq"),
    integer: test((operand) => typeof operand === "number" || typeof operand === "bigint"),
    iterable: test(
      (operand) =>
        isSequence(operand) ||
        operand instanceof View ||
        operand instanceof Generator ||
        typeName(operand) === "LoopContext",
    ),
    le: atMost,
    lt: less,
    lessthan: less,
    "<": less,
    "<=": atMost,
    lower: inCase(isLower),
    mapping: test((operand) => operand instanceof Dict),
    ne: unequal,
    "!=": unequal,
    none: test((operand) => operand === null),
    number: test((operand) => numberOf(operand) !== undefined),
    odd: remainderIs(1, 2),
    sameas: test((operand, [other]) => operand === other, "other"),
    sequence: test(isSequence),
    string: test((operand) => stringOf(operand) !== undefined),
    test: named({ has: (name) => TESTS.has(name) }),
    true: test((operand) => operand === true),
    undefined: test((operand) => operand instanceof Undefined),
    upper: inCase(isUpper),
  }),
);

export function isTest(name: string): boolean {
  return TESTS.has(name);
}

/** @throws TypeError: there is no such test */
export function applyTest(name: string, operand: Value, args: Arguments, keywords: Keywords, budget: Budget): boolean {
  const found = TESTS.get(name);
  if (found === undefined) throw new TypeError(`No test named '${name}'`);
  return found.run(operand, bind(`the test '${name}'`, found.parameters, args, keywords), budget);
}
