// Where the variables of a running template are.
import type { Budget } from "./values/budget.js";
import type { Node, Statement, Target } from "./parse/syntax.js";
import { Undefined, type Value } from "./values/values.js";

/** The value of a name that its scope sets later. */
export class SetLater extends Undefined {
  constructor(name: string) {
    super(`'${name}' is undefined`);
  }
}

/** The variables of a template, a macro's call or an iteration. */
export class Scope {
  readonly #variables = new Map<string, Value>();

  /** @param isBlock - whether names that the scopes around it set later are those of the input here, as in Jinja's blocks */
  constructor(
    private readonly parent?: Scope,
    private readonly isBlock = false,
  ) {}

  get(name: string, isInBlock = false): Value | undefined {
    const value = this.#variables.get(name);
    const isHidden = value === undefined || (isInBlock && value instanceof SetLater);
    return isHidden ? this.parent?.get(name, isInBlock || this.isBlock) : value;
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}

/** How a statement ended: it goes on, or the loop around it does or ends. */
export type Ending = "break" | "continue" | undefined;

/** What loops and macros use of the interpreter. */
export interface Frame {
  readonly budget: Budget;
  evaluate(node: Node, scope: Scope): Value;
  /** Runs statements in a scope, until one of them ends a loop's iteration. */
  run(statements: readonly Statement[], scope: Scope): Ending;
  /** What is written while something runs. */
  written(run: () => void): string;
  /** Sets a variable, an attribute of a namespace, or as many as a tuple has. */
  assign(target: Target, value: Value, scope: Scope): void;
}
