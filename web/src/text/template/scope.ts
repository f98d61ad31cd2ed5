// Where the variables of a running template are.
import type { Budget } from "./budget.js";
import type { Node } from "./syntax.js";
import type { Value } from "./values.js";

/** The variables of a template, a macro's call or an iteration. */
export class Scope {
  readonly #variables = new Map<string, Value>();

  constructor(private readonly parent?: Scope) {}

  get(name: string): Value | undefined {
    const value = this.#variables.get(name);
    return value === undefined ? this.parent?.get(name) : value;
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}

/** Thrown by `break` and `continue`, and caught by the loop. */
export class LoopControl extends Error {
  constructor(readonly ends: boolean) {
    super("break and continue must be inside a loop");
  }
}

/** What a loop uses of the interpreter. */
export interface Frame {
  readonly budget: Budget;
  run(statements: readonly Node[], scope: Scope): void;
  evaluate(node: Node, scope: Scope): Value;
  assign(target: Node, value: Value, scope: Scope): void;
}
