// Runs `for` loops, and makes their variable `loop`.
import { areEqual } from "./values/comparisons.js";
import { type Ending, type Frame, Scope } from "./scope.js";
import type { For } from "./parse/syntax.js";
import { isTrue, iterate, sizeOf } from "./values/types.js";
import { callable, Instance, tuple, Undefined, type Value } from "./values/values.js";

/** Runs a loop over values, and its `else` unless an iteration comes to its end. A variable set in an iteration ends with it. */
export function runLoop(loop: For, items: Value, scope: Scope, frame: Frame, depth = 0): Ending {
  const { target, body, otherwise, isRecursive, test } = loop;
  frame.budget.read(items);
  const recurse = (more: Value): string => frame.written(() => void runLoop(loop, more, scope, frame, depth + 1));
  const source = test === undefined ? iterate(items) : selected(loop, items, scope, frame);
  const size = test === undefined ? sizeOf(items) : undefined;
  const state = new LoopState(source, size, depth, isRecursive ? recurse : undefined);
  let isDone = false;
  for (let next = state.advance(); next !== undefined; next = state.advance()) {
    frame.budget.iterations(1);
    const inside = new Scope(scope);
    frame.assign(target, next, inside);
    inside.set("loop", state.value);
    const ending = frame.run(body, inside);
    if (ending === "break") break;
    if (ending === undefined) isDone = true;
  }
  return isDone ? undefined : frame.run(otherwise, new Scope(scope));
}

/** The items that pass the loop's test, each tested when it is needed. */
function* selected({ target, test }: For, items: Value, scope: Scope, frame: Frame): Generator<Value> {
  for (const item of iterate(items)) {
    frame.budget.iterations(1);
    const inside = new Scope(scope);
    frame.assign(target, item, inside);
    if (isTrue(frame.evaluate(test!, inside))) yield item;
  }
}

/** Where a loop is. Items are read ahead only if the template asks for them. */
class LoopState {
  readonly value: Instance;
  readonly #ahead: Value[] = [];
  #index0 = -1;
  #before: Value | undefined;
  #current: Value | undefined;
  #changed: Value | undefined;
  #size: number | undefined;

  constructor(
    private readonly source: Iterator<Value>,
    size: number | undefined,
    private readonly depth: number,
    recurse: ((items: Value) => Value) | undefined,
  ) {
    this.#size = size;
    this.value = new Instance("LoopContext", {
      attribute: (name) => this.#attribute(name),
      text: () => `<LoopContext ${this.#index0 + 1}/${this.#length()}>`,
      call: ([items, ...more]) => {
        if (items === undefined || more.length > 0) throw new TypeError("loop() takes one argument");
        if (recurse === undefined)
          throw new TypeError("The loop must have the 'recursive' marker to be called recursively.");
        return recurse(items);
      },
    });
  }

  /** The next item; undefined after the last one. */
  advance(): Value | undefined {
    const next = this.#ahead.length > 0 ? this.#ahead.shift() : this.#read();
    if (next === undefined) return undefined;
    this.#index0 += 1;
    this.#before = this.#current;
    this.#current = next;
    return next;
  }

  #read(): Value | undefined {
    const { done, value } = this.source.next() as IteratorResult<Value, undefined>;
    return done === true ? undefined : value;
  }

  #peek(): Value | undefined {
    if (this.#ahead.length === 0) {
      const next = this.#read();
      if (next !== undefined) this.#ahead.push(next);
    }
    return this.#ahead[0];
  }

  #length(): number {
    if (this.#size === undefined) {
      for (let next = this.#read(); next !== undefined; next = this.#read()) this.#ahead.push(next);
      this.#size = this.#index0 + 1 + this.#ahead.length;
    }
    return this.#size;
  }

  #attribute(name: string): Value | undefined {
    const index0 = this.#index0;
    switch (name) {
      case "index":
        return index0 + 1;
      case "index0":
        return index0;
      case "revindex":
        return this.#length() - index0;
      case "revindex0":
        return this.#length() - index0 - 1;
      case "first":
        return index0 === 0;
      case "last":
        return this.#peek() === undefined;
      case "length":
        return this.#length();
      case "depth":
        return this.depth + 1;
      case "depth0":
        return this.depth;
      case "previtem":
        return this.#before ?? (index0 === 0 ? new Undefined("there is no previous item") : null);
      case "nextitem":
        return this.#peek() ?? (this.#ahead.length === 0 ? new Undefined("there is no next item") : null);
      case "cycle":
        return callable((values) => {
          if (values.length === 0) throw new TypeError("no items for cycling given");
          return values[index0 % values.length]!;
        });
      case "changed":
        return callable((values) => this.#hasChanged(tuple(values)));
      default:
        return undefined;
    }
  }

  #hasChanged(value: Value): boolean {
    const hasChanged = this.#changed === undefined || !areEqual(this.#changed, value);
    this.#changed = value;
    return hasChanged;
  }
}
