// Evaluates expressions.
import { attributeOf, itemOf, sliceOf } from "./attributes.js";
import type { Budget } from "./values/budget.js";
import type { FilterCall } from "./filters/filter_call.js";
import { FILTERS } from "./filters/filters.js";
import { Float, negate } from "./values/numbers.js";
import { calculate, isTrueFor } from "./operators.js";
import { concatenate } from "./values/python_text.js";
import type { Scope } from "./scope.js";
import { bind } from "./signature.js";
import type { ArgumentNodes, Call, Filter, Node } from "./parse/syntax.js";
import { applyTest } from "./tests.js";
import { isTrue, iterate, numberOf, typeName, wholeOf } from "./values/types.js";
import {
  type Arguments,
  Dict,
  firstOf,
  Generator,
  Instance,
  type Keywords,
  stringOf,
  tuple,
  Undefined,
  undefinedError,
  type Value,
} from "./values/values.js";

export class ExpressionRunner {
  constructor(readonly budget: Budget) {}

  evaluate(node: Node, scope: Scope): Value {
    const { budget } = this;
    budget.enter();
    try {
      return this.#evaluate(node, scope);
    } finally {
      budget.leave();
    }
  }

  #evaluate(node: Node, scope: Scope): Value {
    const { budget } = this;
    const value = (inner: Node): Value => this.evaluate(inner, scope);
    switch (node.type) {
      case "constant":
        return node.value;
      case "name":
        return firstOf(scope.get(node.name), new Undefined(`'${node.name}' is undefined`));
      case "list":
        return node.items.map(value);
      case "tuple":
        return tuple(node.items.map(value));
      case "concatenation":
        return concatenate(node.items.map(value), budget);
      case "dict":
        return new Dict(node.entries.map(([key, item]) => [value(key), value(item)]));
      case "and":
      case "or": {
        let last: Value = null;
        for (const operand of node.operands) {
          last = value(operand);
          if (isTrue(last) === (node.type === "or")) break;
        }
        return last;
      }
      case "not":
        return isTrue(value(node.operand)) === node.isTwice;
      case "sign":
        return signed(node.signs, value(node.operand));
      case "arithmetic":
        return calculate(node.operator, value(node.left), value(node.right), budget);
      case "comparison":
        return this.#compared(node, scope);
      case "conditional": {
        const branch = node.branches.find(({ test }) => isTrue(value(test)));
        if (branch !== undefined) return value(branch.value);
        if (node.otherwise !== undefined) return value(node.otherwise);
        return new Undefined("the inline if-expression evaluated to false and no else section was defined.");
      }
      case "attribute":
        return attributeOf(value(node.object), node.name, budget);
      case "item": {
        const object = value(node.object);
        const key = value(node.key);
        if (!(key instanceof Generator)) budget.read(key);
        if (wholeOf(key) !== undefined) budget.spend((stringOf(object)?.length ?? 0) / 32);
        return itemOf(object, key, budget);
      }
      case "slice": {
        const object = value(node.object);
        return sliceOf(
          object,
          node.bounds.map((bound) => bound && value(bound)),
          budget,
        );
      }
      case "call":
        return this.called(node, scope);
      case "filter":
        return this.filtered(node, scope);
      case "test": {
        const operand = value(node.operand);
        return applyTest(node.name, operand, ...this.#arguments(node.args, scope), budget);
      }
    }
  }

  #compared(node: Node & { type: "comparison" }, scope: Scope): boolean {
    let left = this.evaluate(node.first, scope);
    for (const [operator, operand] of node.others) {
      const right = this.evaluate(operand, scope);
      if (!isTrueFor(operator, left, right, this.budget)) return false;
      left = right;
    }
    return true;
  }

  /** Calls a function, with the body of a call block if there is one. */
  protected called(node: Call, scope: Scope, caller?: Value): Value {
    const callee = this.evaluate(node.callee, scope);
    const [args, keywords] = this.#arguments(node.args, scope);
    if (caller !== undefined) {
      if (keywords.has("caller")) throw new TypeError("got multiple values for keyword argument 'caller'");
      keywords.set("caller", caller);
    }
    if (callee instanceof Undefined) throw undefinedError(callee);
    const call = callee instanceof Instance ? callee.parts.call : undefined;
    if (call === undefined) throw new TypeError(`'${typeName(callee)}' object is not callable`);
    const result = call(args, keywords);
    this.budget.written(result);
    return result;
  }

  #arguments(nodes: ArgumentNodes, scope: Scope): [Value[], Map<string, Value>] {
    const args = nodes.positional.map((node) => this.evaluate(node, scope));
    const keywords = new Map(nodes.keywords.map(([name, node]) => [name, this.evaluate(node, scope)]));
    if (nodes.list !== undefined)
      for (const item of iterate(this.evaluate(nodes.list, scope))) {
        this.budget.spend(1);
        args.push(item);
      }
    if (nodes.dict !== undefined) {
      const dict = this.evaluate(nodes.dict, scope);
      if (!(dict instanceof Dict)) throw new TypeError(`argument after ** must be a mapping, not ${typeName(dict)}`);
      for (const [key, value] of dict.entries()) {
        const name = stringOf(key);
        if (name === undefined) throw new TypeError("keywords must be strings");
        if (keywords.has(name)) throw new TypeError(`got multiple values for keyword argument '${name}'`);
        keywords.set(name, value);
      }
    }
    this.budget.spend(args.length + keywords.size);
    return [args, keywords];
  }

  /** Applies filters to their operand: without one, to `text`. */
  protected filtered(node: Filter, scope: Scope, text = ""): Value {
    const { operand } = node;
    let value: Value;
    if (operand === undefined) value = text;
    else if (operand.type === "filter") value = this.filtered(operand, scope, text);
    else value = this.evaluate(operand, scope);
    const [args, keywords] = this.#arguments(node.args, scope);
    return this.#applied(node.name, value, args, keywords);
  }

  #applied(name: string, operand: Value, given: Arguments, keywords: Keywords): Value {
    const { budget } = this;
    const filter = FILTERS.get(name);
    if (filter === undefined) throw new TypeError(`No filter named '${name}' found.`);
    for (const value of given) if (!(value instanceof Generator)) budget.read(value);
    const args =
      filter.parameters === undefined ? [...given] : bind(`the filter '${name}'`, filter.parameters, given, keywords);
    const call: FilterCall = {
      args,
      keywords,
      budget,
      applyFilter: (other, item, more, named) => this.#applied(nameOf(other, "filter"), item, more, named),
      applyTest: (test, item, more, named) => applyTest(nameOf(test, "test"), item, more, named, budget),
    };
    const result = filter.run(operand, call);
    if (result !== operand) budget.written(result);
    return result;
  }
}

function nameOf(value: Value, what: string): string {
  const name = stringOf(value);
  if (name === undefined) throw new TypeError(`a ${what} needs a name (got ${typeName(value)})`);
  return name;
}

function signed(signs: string, operand: Value): Value {
  if (operand instanceof Undefined) throw undefinedError(operand);
  const number = numberOf(operand);
  if (number === undefined) throw new TypeError(`bad operand type for unary ${signs.at(-1)!}: '${typeName(operand)}'`);
  const minus = signs.replaceAll("+", "").length % 2 === 1;
  if (number instanceof Float) return new Float(minus ? -number.value : number.value);
  return minus ? negate(number) : number;
}
