// Runs templates that `@huggingface/jinja` has parsed. The library's own interpreter differs from Jinja in its values, scopes and
// filters, and can't be stopped.
import { attributeOf, itemOf, sliceOf } from "./attributes.js";
import type { Budget } from "./budget.js";
import type { FilterCall } from "./filter_call.js";
import { FILTERS } from "./filters.js";
import { runLoop } from "./loop.js";
import { applyOperator } from "./operators.js";
import { concatenate } from "./python_text.js";
import { type Frame, LoopControl, Scope } from "./scope.js";
import type { CallBlock, Filter, Macro, Node, Program, SetStatement } from "./syntax.js";
import { NEGATED_TEST, TEST } from "./test_calls.js";
import { applyTest } from "./tests.js";
import {
  type Arguments,
  Callable,
  firstOf,
  Float,
  isTrue,
  itemsOf,
  keyOf,
  type Keywords,
  Namespace,
  numberOf,
  stringOf,
  tuple,
  typeName,
  Undefined,
  undefinedError,
  type Value,
} from "./values.js";

/** Runs a template. Throws what its functions throw, TypeError and similar errors for wrong values, and OverBudget. */
export function runTemplate(program: Program, variables: Iterable<[string, Value]>, budget: Budget): string {
  const scope = new Scope();
  for (const [name, value] of variables) scope.set(name, value);
  return new Interpreter(budget).block(program.body, scope);
}

/** Names that a macro's call sets if the macro uses them. */
const SPECIAL_NAMES = ["caller", "varargs", "kwargs"];
const specialNames = new WeakMap<readonly Node[], ReadonlySet<string>>();

function specialNamesIn(body: readonly Node[]): ReadonlySet<string> {
  const known = specialNames.get(body);
  if (known !== undefined) return known;
  const names = new Set<string>();
  const open: unknown[] = [body];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    const { type, value } = next as { type?: string; value?: unknown };
    if (type === "Identifier" && SPECIAL_NAMES.includes(value as string)) names.add(value as string);
    for (const child of next instanceof Map ? [...next].flat() : Object.values(next)) open.push(child);
  }
  specialNames.set(body, names);
  return names;
}

class Interpreter implements Frame {
  #text = "";

  constructor(readonly budget: Budget) {}

  /** Runs statements, and returns what they write. */
  block(statements: readonly Node[], scope: Scope): string {
    const before = this.#text;
    this.#text = "";
    try {
      this.run(statements, scope);
      return this.#text;
    } finally {
      this.#text = before;
    }
  }

  run(statements: readonly Node[], scope: Scope): void {
    for (const statement of statements) this.#statement(statement, scope);
  }

  #write(text: string): void {
    this.#text += text;
    this.budget.checkLength(this.#text.length);
    this.budget.written(text);
  }

  #writeValue(value: Value): void {
    this.#write(concatenate([value], this.budget));
  }

  #statement(node: Node, scope: Scope): void {
    const { budget } = this;
    budget.enter();
    try {
      switch (node.type) {
        case "Comment":
          return;
        case "If":
          this.run(isTrue(this.evaluate(node.test, scope)) ? node.body : node.alternate, scope);
          return;
        case "For":
          runLoop(node, scope, this);
          return;
        case "Set":
          this.#set(node, scope);
          return;
        case "Macro":
          scope.set(node.name.value, this.#macro(node, node.args, scope));
          return;
        case "CallStatement":
          this.#callBlock(node, scope);
          return;
        case "FilterStatement":
          this.#writeValue(this.#filter(this.block(node.body, new Scope(scope)), node.filter, scope));
          return;
        case "Break":
        case "Continue":
          throw new LoopControl(node.type === "Break");
        case "StringLiteral":
          this.#write(node.value);
          return;
        default:
          this.#writeValue(this.evaluate(node, scope));
      }
    } finally {
      budget.leave();
    }
  }

  #set({ assignee, value, body }: SetStatement, scope: Scope): void {
    const result = value === null ? this.block(body, new Scope(scope)) : this.evaluate(value, scope);
    if (assignee.type === "MemberExpression") {
      const object = this.evaluate(assignee.object, scope);
      if (!(object instanceof Namespace) || assignee.property.type !== "Identifier")
        throw new TypeError("cannot assign attribute on non-namespace object");
      object.attributes.set(assignee.property.value, result);
    } else {
      this.assign(assignee, result, scope);
    }
  }

  /** Sets a variable, or as many as a tuple has. */
  assign(target: Node, value: Value, scope: Scope): void {
    if (target.type === "Identifier") {
      scope.set(target.value, value);
    } else if (target.type === "TupleLiteral") {
      const items = itemsOf(value);
      if (items.length !== target.value.length)
        throw new TypeError(`expected ${target.value.length} values to unpack (got ${items.length})`);
      target.value.forEach((part, i) => this.assign(part, items[i]!, scope));
    } else {
      throw new SyntaxError(`can't assign to ${target.type}`);
    }
  }

  /** A macro, or the body of a call block. It sees the variables of the place where it is defined. */
  #macro({ body }: Macro | CallBlock, parameters: readonly Node[], scope: Scope): Callable {
    const special = specialNamesIn(body);
    return new Callable((args, keywords) => {
      const inside = new Scope(scope);
      const rest = new Map(keywords);
      if (special.has("caller")) {
        inside.set("caller", firstOf(rest.get("caller"), new Undefined("No caller defined")));
        rest.delete("caller");
      }
      if (special.has("varargs")) inside.set("varargs", tuple(args.slice(parameters.length)));
      else if (args.length > parameters.length) throw new TypeError("a macro is given too many arguments");
      parameters.forEach((parameter, i) => {
        const isPlain = parameter.type === "Identifier";
        if (!isPlain && parameter.type !== "KeywordArgumentExpression")
          throw new SyntaxError("a parameter has no name");
        const name = isPlain ? parameter.value : parameter.key.value;
        const given = firstOf(args[i], rest.get(name));
        rest.delete(name);
        const missing = (): Value => new Undefined(`parameter '${name}' was not provided`);
        if (given !== undefined) inside.set(name, given);
        else inside.set(name, isPlain ? missing() : this.evaluate(parameter.value, inside));
      });
      if (special.has("kwargs")) inside.set("kwargs", rest);
      else if (rest.size > 0) throw new TypeError("a macro is given an argument that it doesn't have");
      try {
        return this.block(body, inside);
      } catch (error) {
        if (error instanceof LoopControl) throw new SyntaxError(error.message, { cause: error });
        throw error;
      }
    });
  }

  #callBlock(node: CallBlock, scope: Scope): void {
    const [args, keywords] = this.#arguments(node.call.args, scope);
    const caller = this.#macro(node, node.callerArgs ?? [], scope);
    const macro = this.evaluate(node.call.callee, scope);
    this.#writeValue(this.#call(macro, args, new Map([...keywords, ["caller", caller]])));
  }

  #call(callee: Value, args: Arguments, keywords: Keywords): Value {
    if (callee instanceof Undefined) throw undefinedError(callee);
    if (!(callee instanceof Callable)) throw new TypeError(`'${typeName(callee)}' object is not callable`);
    const result = callee.call(args, keywords);
    this.budget.written(result);
    return result;
  }

  #arguments(nodes: readonly Node[], scope: Scope): [Value[], Map<string, Value>] {
    const args: Value[] = [];
    const keywords = new Map<string, Value>();
    for (const node of nodes) {
      if (node.type === "SpreadExpression") {
        for (const item of itemsOf(this.evaluate(node.argument, scope))) args.push(item);
      } else if (node.type === "KeywordArgumentExpression") {
        keywords.set(node.key.value, this.evaluate(node.value, scope));
      } else if (node.type === "KeywordSpreadExpression") {
        const entries = this.evaluate(node.argument, scope);
        if (!(entries instanceof Map)) throw new TypeError("argument after ** must be a mapping");
        for (const [key, value] of entries) keywords.set(String(key), value);
      } else {
        args.push(this.evaluate(node, scope));
      }
    }
    this.budget.spend(args.length + keywords.size);
    return [args, keywords];
  }

  #filter(operand: Value, filter: Filter, scope: Scope): Value {
    const [callee, nodes] = filter.type === "Identifier" ? [filter, []] : [filter.callee, filter.args];
    if (callee.type !== "Identifier") throw new SyntaxError("a filter has no name");
    return this.#applyFilter(callee.value, operand, ...this.#arguments(nodes, scope));
  }

  #applyFilter(name: string, operand: Value, args: Arguments, keywords: Keywords): Value {
    const test = name.startsWith(NEGATED_TEST) ? NEGATED_TEST : name.startsWith(TEST) ? TEST : undefined;
    if (test !== undefined) return applyTest(name.slice(test.length), operand, args, this.budget) === (test === TEST);
    const filter = FILTERS.get(name);
    if (filter === undefined) throw new SyntaxError(`No filter named '${name}' found.`);
    const { budget } = this;
    for (const value of args) budget.read(value);
    const call: FilterCall = {
      args,
      keywords,
      budget,
      applyFilter: (other, item, more, named) => this.#applyFilter(other, item, more, named),
      applyTest: (test, item, more) => applyTest(test, item, more, budget),
    };
    const result = filter(operand, call);
    if (result !== operand) budget.written(result);
    return result;
  }

  evaluate(node: Node, scope: Scope): Value {
    const { budget } = this;
    budget.enter();
    try {
      return this.#expression(node, scope);
    } finally {
      budget.leave();
    }
  }

  #expression(node: Node, scope: Scope): Value {
    const { budget } = this;
    const value = (inner: Node): Value => this.evaluate(inner, scope);
    switch (node.type) {
      case "Identifier":
        return firstOf(scope.get(node.value), new Undefined(`'${node.value}' is undefined`));
      case "IntegerLiteral":
      case "StringLiteral":
        return node.value;
      case "FloatLiteral":
        return new Float(node.value);
      case "ArrayLiteral":
        return node.value.map(value);
      case "TupleLiteral":
        return tuple(node.value.map(value));
      case "ObjectLiteral":
        return new Map(Array.from(node.value, ([key, item]) => [keyOf(value(key)), value(item)]));
      case "BinaryExpression":
        return this.#binary(node.operator.value, node.left, node.right, scope);
      case "UnaryExpression":
        return this.#unary(node.operator.value, value(node.argument));
      case "MemberExpression": {
        const object = value(node.object);
        const { property } = node;
        if (property.type === "SliceExpression") {
          const bounds = [property.start, property.stop, property.step];
          return sliceOf(
            object,
            bounds.map((bound) => bound && value(bound)),
            budget,
          );
        }
        if (!node.computed && property.type === "Identifier") return attributeOf(object, property.value, budget);
        const key = value(property);
        budget.read(key);
        if (numberOf(key) !== undefined) budget.spend((stringOf(object)?.length ?? 0) / 32);
        return itemOf(object, key, budget);
      }
      case "CallExpression": {
        const callee = value(node.callee);
        return this.#call(callee, ...this.#arguments(node.args, scope));
      }
      case "FilterExpression":
        return this.#filter(value(node.operand), node.filter, scope);
      case "TestExpression":
        return applyTest(node.test.value, value(node.operand), [], budget) !== node.negate;
      case "Ternary":
        return value(isTrue(value(node.condition)) ? node.trueExpr : node.falseExpr);
      case "SelectExpression":
        return isTrue(value(node.test)) ? value(node.lhs) : new Undefined("the condition of an expression is false");
      default:
        throw new SyntaxError(`unexpected ${node.type}`);
    }
  }

  #binary(operator: string, left: Node, right: Node, scope: Scope): Value {
    const first = this.evaluate(left, scope);
    if (operator === "and") return isTrue(first) ? this.evaluate(right, scope) : first;
    if (operator === "or") return isTrue(first) ? first : this.evaluate(right, scope);
    return applyOperator(operator, first, this.evaluate(right, scope), this.budget);
  }

  #unary(operator: string, operand: Value): Value {
    if (operator === "not") return !isTrue(operand);
    if (operand instanceof Undefined) throw undefinedError(operand);
    const number = numberOf(operand);
    if (number === undefined) throw new TypeError(`bad operand type for unary ${operator}: '${typeName(operand)}'`);
    const result = operator === "-" ? -number : number;
    return operand instanceof Float ? new Float(result) : result + 0;
  }
}
