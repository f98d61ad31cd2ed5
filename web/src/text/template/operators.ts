// Operators of templates.
import type { Budget } from "./budget.js";
import { format } from "./format_text.js";
import { concatenate, toText } from "./python_text.js";
import {
  areEqual,
  compare,
  Float,
  itemsOf,
  keyOf,
  Markup,
  numberOf,
  stringOf,
  tuple,
  Tuple,
  typeName,
  Undefined,
  undefinedError,
  type Value,
} from "./values.js";

type Operator = (left: Value, right: Value, budget: Budget) => Value;

const COMPARISONS: Readonly<Record<string, (left: Value, right: Value) => boolean>> = {
  "<": (left, right) => compare(left, right) < 0,
  ">": (left, right) => compare(left, right) > 0,
  "<=": (left, right) => compare(left, right) <= 0,
  ">=": (left, right) => compare(left, right) >= 0,
};

const ARITHMETIC: Readonly<Record<string, Operator>> = {
  "+": add,
  "-": arithmetic("-", (a, b) => a - b),
  "*": multiply,
  "/": (left, right) => new Float(numberOf(arithmetic("/", divide)(left, right))!),
  "//": arithmetic("//", (a, b) => Math.floor(divide(a, b))),
  "%": remainder,
  "**": power,
};

/** Applies an operator other than `and` and `or`. @throws TypeError, and OverBudget */
export function applyOperator(operator: string, left: Value, right: Value, budget: Budget): Value {
  if (operator === "~") return concatenate([left, right], budget);
  if (operator === "in") return isIn(left, right, budget);
  if (operator === "not in") return !isIn(left, right, budget);
  if (operator === "==" || operator === "!=" || operator in COMPARISONS) {
    for (const value of [left, right]) {
      if (stringOf(value) === undefined) budget.serialized(value);
      else budget.read(value);
    }
    const ordered = COMPARISONS[operator];
    return ordered === undefined ? areEqual(left, right) === (operator === "==") : ordered(left, right);
  }
  const apply = ARITHMETIC[operator];
  if (apply === undefined) throw new SyntaxError(`unknown operator ${operator}`);
  for (const value of [left, right]) if (value instanceof Undefined) throw undefinedError(value);
  const result = apply(left, right, budget);
  if (typeof result === "string") budget.checkLength(result.length);
  else budget.written(result);
  return result;
}

/** Whether a value is in a collection, or a text in another one. @throws TypeError */
export function isIn(value: Value, collection: Value, budget: Budget): boolean {
  budget.read(collection);
  const text = stringOf(collection);
  if (text !== undefined) {
    const part = stringOf(value);
    if (part === undefined)
      throw new TypeError(`'in <string>' requires string as left operand, not ${typeName(value)}`);
    return text.includes(part);
  }
  if (collection instanceof Map) return !(value instanceof Undefined) && collection.has(keyOf(value));
  const items = itemsOf(collection);
  const length = stringOf(value)?.length ?? 0;
  budget.spend((items.length * length) / 512);
  if (typeof value === "object" && value !== null) budget.serialized(items);
  return items.some((item) => areEqual(item, value));
}

function unsupported(operator: string, left: Value, right: Value): TypeError {
  return new TypeError(`unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`);
}

function arithmetic(operator: string, compute: (a: number, b: number) => number): (a: Value, b: Value) => Value {
  return (left, right) => {
    const [a, b] = [numberOf(left), numberOf(right)];
    if (a === undefined || b === undefined) throw unsupported(operator, left, right);
    const result = compute(a, b);
    return left instanceof Float || right instanceof Float || !Number.isInteger(result) ? new Float(result) : result;
  };
}

function divide(a: number, b: number): number {
  if (b === 0) throw new RangeError("division by zero");
  return a / b;
}

/** Escapes text for HTML. */
export function escapeText(value: Value): string {
  if (value instanceof Markup) return value.text;
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "'": "&#39;",
    '"': "&#34;",
  };
  return toText(value).replace(/[&<>'"]/g, (character) => names[character]!);
}

function add(left: Value, right: Value, budget: Budget): Value {
  const [text, other] = [stringOf(left), stringOf(right)];
  if (text !== undefined && other !== undefined) {
    budget.checkLength(text.length + other.length);
    if (typeof left === "string" && typeof right === "string") return left + right;
    return new Markup(escapeText(left) + escapeText(right));
  }
  if (Array.isArray(left) && Array.isArray(right) && typeName(left) === typeName(right)) {
    budget.spend(left.length + right.length);
    return left instanceof Tuple ? tuple([...left, ...right]) : [...left, ...right];
  }
  if (text !== undefined) throw new TypeError(`can only concatenate str (not "${typeName(right)}") to str`);
  return arithmetic("+", (a, b) => a + b)(left, right);
}

function multiply(left: Value, right: Value, budget: Budget): Value {
  const [sequence, factor] = typeof right === "number" ? [left, right] : [right, left];
  const times = typeof factor === "number" ? Math.max(0, factor) : NaN;
  const text = stringOf(sequence);
  if (text !== undefined && !Number.isNaN(times)) {
    budget.checkLength(text.length * times);
    return text.repeat(times);
  }
  if (Array.isArray(sequence) && !Number.isNaN(times)) {
    budget.spend(sequence.length * times);
    const items: Value[] = [];
    for (let i = 0; i < times; i++) for (const item of sequence) items.push(item);
    return sequence instanceof Tuple ? tuple(items) : items;
  }
  return arithmetic("*", (a, b) => a * b)(left, right);
}

/** The remainder with the sign of the divisor, or text with values in it. */
function remainder(left: Value, right: Value, budget: Budget): Value {
  const text = stringOf(left);
  if (text !== undefined) return format(text, right instanceof Tuple ? right : [right], budget);
  return arithmetic("%", (a, b) => a - b * Math.floor(divide(a, b)))(left, right);
}

function power(left: Value, right: Value): Value {
  const result = arithmetic("**", (a, b) => a ** b)(left, right);
  if (!Number.isFinite(numberOf(result))) throw new RangeError("a power is not a finite number");
  return result;
}
