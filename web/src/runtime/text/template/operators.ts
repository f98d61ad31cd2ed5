// Operators of templates.
import type { Budget } from "./values/budget.js";
import { areEqual, compare } from "./values/comparisons.js";
import { escapeText } from "./escape.js";
import { format } from "./format/format_percent.js";
import * as numbers from "./values/numbers.js";
import type { ArithmeticOperator, Comparison } from "./parse/syntax.js";
import { iterate, numberOf, typeName, wholeOf } from "./values/types.js";
import {
  Dict,
  Generator,
  Markup,
  Namespace,
  Range,
  stringOf,
  tuple,
  Tuple,
  Undefined,
  undefinedError,
  type Value,
  View,
} from "./values/values.js";

type Operator = (left: Value, right: Value, budget: Budget) => Value;

const ARITHMETIC: Readonly<Record<ArithmeticOperator, Operator>> = {
  "+": add,
  "-": arithmetic("-", numbers.subtract),
  "*": multiply,
  "/": arithmetic("/", numbers.divide),
  "//": arithmetic("//", numbers.floorDivide),
  "%": remainder,
  "**": arithmetic("**", numbers.power),
};

/** @throws TypeError, RangeError, and OverBudget */
export function calculate(operator: ArithmeticOperator, left: Value, right: Value, budget: Budget): Value {
  for (const value of [left, right])
    if (value instanceof Undefined && !(operator === "%" && stringOf(left) !== undefined)) throw undefinedError(value);
  const result = ARITHMETIC[operator](left, right, budget);
  if (typeof result === "string") budget.checkLength(result.length);
  else budget.written(result);
  return result;
}

/** @throws TypeError */
export function isTrueFor(operator: Comparison, left: Value, right: Value, budget: Budget): boolean {
  if (operator === "in") return isIn(left, right, budget);
  if (operator === "not in") return !isIn(left, right, budget);
  for (const value of [left, right]) {
    if (stringOf(value) === undefined) budget.serialized(value);
    else budget.read(value);
  }
  if (operator === "==") return areEqual(left, right);
  if (operator === "!=") return !areEqual(left, right);
  const order = compare(left, right);
  if (operator === "<") return order < 0;
  if (operator === ">") return order > 0;
  return operator === "<=" ? order <= 0 : order >= 0;
}

/** Whether a value is in a collection, or a text in another one. @throws TypeError */
function isIn(value: Value, collection: Value, budget: Budget): boolean {
  budget.read(collection);
  const text = stringOf(collection);
  if (text !== undefined) {
    const part = stringOf(value);
    if (part === undefined)
      throw new TypeError(`'in <string>' requires string as left operand, not ${typeName(value)}`);
    return text.includes(part);
  }
  if (collection instanceof Dict) return collection.has(value);
  if (collection instanceof Namespace) throw new TypeError("argument of type 'Namespace' is not iterable");
  if (collection instanceof Range && wholeOf(value) === undefined && !(value instanceof numbers.Float)) return false;
  const size = Array.isArray(collection) ? collection.length : collection instanceof View ? collection.items.length : 0;
  budget.spend((size * (stringOf(value)?.length ?? 0)) / 512);
  if (typeof value === "object" && value !== null && !(collection instanceof Generator)) budget.serialized(collection);
  for (const item of iterate(collection)) {
    if (collection instanceof Generator) budget.spend(1);
    if (areEqual(item, value)) return true;
  }
  return false;
}

function unsupported(operator: string, left: Value, right: Value): TypeError {
  return new TypeError(`unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`);
}

function arithmetic(
  operator: string,
  compute: (a: numbers.Integer | numbers.Float, b: numbers.Integer | numbers.Float) => Value,
): Operator {
  return (left, right) => {
    const [a, b] = [numberOf(left), numberOf(right)];
    if (a === undefined || b === undefined) throw unsupported(operator, left, right);
    return compute(a, b);
  };
}

const addNumbers = arithmetic("+", numbers.add);
const multiplyNumbers = arithmetic("*", numbers.multiply);
const remainderOfNumbers = arithmetic("%", numbers.remainder);

function add(left: Value, right: Value, budget: Budget): Value {
  const [text, other] = [stringOf(left), stringOf(right)];
  if (text !== undefined && other !== undefined) {
    budget.checkLength(text.length + other.length);
    if (typeof left === "string" && typeof right === "string") return left + right;
    return new Markup(escapeText(left) + escapeText(right));
  }
  const isRange = left instanceof Range || right instanceof Range;
  if (Array.isArray(left) && Array.isArray(right) && typeName(left) === typeName(right) && !isRange) {
    budget.spend(left.length + right.length);
    return left instanceof Tuple ? tuple([...left, ...right]) : [...left, ...right];
  }
  if (text !== undefined) throw new TypeError(`can only concatenate str (not "${typeName(right)}") to str`);
  return addNumbers(left, right, budget);
}

function multiply(left: Value, right: Value, budget: Budget): Value {
  const isSequence = (value: Value): boolean =>
    stringOf(value) !== undefined || (Array.isArray(value) && !(value instanceof Range));
  const [sequence, factor] = isSequence(left) ? [left, right] : [right, left];
  const times = wholeOf(factor);
  if (!isSequence(sequence) || times === undefined) return multiplyNumbers(left, right, budget);
  const count = Math.max(0, Number(times));
  const text = stringOf(sequence);
  if (text !== undefined) {
    budget.checkLength(text.length * count);
    const repeated = text === "" ? "" : text.repeat(count);
    return sequence instanceof Markup ? new Markup(repeated) : repeated;
  }
  const list = sequence as Value[];
  budget.spend(list.length * count);
  const items: Value[] = [];
  if (list.length > 0) for (let i = 0; i < count; i++) for (const item of list) items.push(item);
  return sequence instanceof Tuple ? tuple(items) : items;
}

/** The remainder with the sign of the divisor, or text with values in it. */
function remainder(left: Value, right: Value, budget: Budget): Value {
  return stringOf(left) === undefined ? remainderOfNumbers(left, right, budget) : format(left, right, budget);
}
