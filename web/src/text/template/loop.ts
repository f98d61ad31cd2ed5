// Runs `for` loops.
import { type Frame, LoopControl, Scope } from "./scope.js";
import type { For } from "./syntax.js";
import { areEqual, Callable, firstOf, isTrue, itemsOf, tuple, Undefined, type Value } from "./values.js";

/** Runs a loop, or its `else` if there are no items. A variable set in an iteration ends with it. */
export function runLoop({ loopvar, iterable, body, defaultBlock }: For, scope: Scope, frame: Frame): void {
  const { budget } = frame;
  const [source, test] = iterable.type === "SelectExpression" ? [iterable.lhs, iterable.test] : [iterable, undefined];
  const all = itemsOf(frame.evaluate(source, scope));
  budget.iterations(all.length);
  const items =
    test === undefined
      ? all
      : all.filter((item) => {
          const inside = new Scope(scope);
          frame.assign(loopvar, item, inside);
          return isTrue(frame.evaluate(test, inside));
        });
  if (items.length === 0) {
    frame.run(defaultBlock, new Scope(scope));
    return;
  }
  const changes: { last?: Value } = {};
  for (const [i, item] of items.entries()) {
    const inside = new Scope(scope);
    frame.assign(loopvar, item, inside);
    inside.set("loop", loopAt(i, items, changes));
    try {
      frame.run(body, inside);
    } catch (error) {
      if (!(error instanceof LoopControl)) throw error;
      if (error.ends) return;
    }
  }
}

function loopAt(i: number, items: readonly Value[], changes: { last?: Value }): Value {
  const outside = (): Value => new Undefined("there is no such item in the loop");
  const changed = new Callable((values) => {
    const value = tuple(values);
    const hasChanged = changes.last === undefined || !areEqual(changes.last, value);
    changes.last = value;
    return hasChanged;
  });
  return new Map<string, Value>([
    ["index", i + 1],
    ["index0", i],
    ["revindex", items.length - i],
    ["revindex0", items.length - i - 1],
    ["first", i === 0],
    ["last", i === items.length - 1],
    ["length", items.length],
    ["depth", 1],
    ["depth0", 0],
    ["previtem", firstOf(items[i - 1], outside())],
    ["nextitem", firstOf(items[i + 1], outside())],
    ["cycle", new Callable((values) => firstOf(values[i % values.length], outside()))],
    ["changed", changed],
  ]);
}
