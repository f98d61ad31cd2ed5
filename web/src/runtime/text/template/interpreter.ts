// Runs a parsed template, with the scopes and values of Jinja.
import type { Budget } from "./values/budget.js";
import { ExpressionRunner } from "./expression_runner.js";
import { checkAttribute } from "./globals.js";
import { runLoop } from "./loop.js";
import { macroOf } from "./macro.js";
import { concatenate } from "./values/python_text.js";
import { type Ending, type Frame, Scope, SetLater } from "./scope.js";
import type { Block, Program, Statement, Target } from "./parse/syntax.js";
import { isTrue, itemsOf, iterate, typeName } from "./values/types.js";
import { callable, Instance, Namespace, stringOf, Undefined, type Value } from "./values/values.js";

/** Runs a template. Throws what its functions throw, TypeError and similar errors for wrong values, and OverBudget. */
export function runTemplate(program: Program, variables: Iterable<[string, Value]>, budget: Budget): string {
  return new Interpreter(program, variables, budget).text();
}

class Interpreter extends ExpressionRunner implements Frame {
  #text = "";
  readonly #top: Scope;

  constructor(
    private readonly program: Program,
    variables: Iterable<[string, Value]>,
    budget: Budget,
  ) {
    super(budget);
    const inputs = new Scope();
    if (program.blocks.size > 0) inputs.set("self", this.#blocksByName());
    for (const [name, value] of variables) inputs.set(name, value);
    this.#top = new Scope(inputs);
  }

  text(): string {
    return this.written(() => void this.run(this.program.body, this.#top));
  }

  written(run: () => void): string {
    const before = this.#text;
    this.#text = "";
    try {
      run();
      return this.#text;
    } finally {
      this.#text = before;
    }
  }

  run(statements: readonly Statement[], scope: Scope): Ending {
    for (const statement of statements) {
      const ending = this.#statement(statement, scope);
      if (ending !== undefined) return ending;
    }
    return undefined;
  }

  #write(value: Value): void {
    const text = typeof value === "string" ? value : concatenate([value], this.budget);
    this.#text += text;
    this.budget.checkLength(this.#text.length);
    this.budget.written(text);
  }

  #statement(node: Statement, scope: Scope): Ending {
    this.budget.enter();
    try {
      return this.#run(node, scope);
    } finally {
      this.budget.leave();
    }
  }

  #run(node: Statement, scope: Scope): Ending {
    switch (node.type) {
      case "text":
        this.#write(node.text);
        return undefined;
      case "print":
        this.#write(this.evaluate(node.value, scope));
        return undefined;
      case "if": {
        const branch = node.branches.find(({ test }) => isTrue(this.evaluate(test, scope)));
        return this.run(branch?.body ?? node.otherwise, scope);
      }
      case "for":
        return this.#for(node, scope);
      case "set":
        this.assign(node.target, this.evaluate(node.value, scope), scope);
        return undefined;
      case "setBlock":
        return this.#captured(node.body, scope, (text) => {
          this.assign(node.target, node.filter === undefined ? text : this.filtered(node.filter, scope, text), scope);
        });
      case "filterBlock": {
        const inside = new Scope(scope);
        return this.#captured(node.body, inside, (text) => {
          this.#write(writable(this.filtered(node.filter, inside, text)));
        });
      }
      case "with": {
        const inside = new Scope(scope);
        for (const { target, value } of node.variables) this.assign(target, this.evaluate(value, scope), inside);
        return this.run(node.body, inside);
      }
      case "macro":
        scope.set(node.name!, macroOf(node, scope, this));
        return undefined;
      case "callBlock": {
        const caller = macroOf(node.caller, scope, this);
        this.#write(writable(this.called(node.call, scope, caller)));
        return undefined;
      }
      case "block":
        this.#block(node, scope);
        return undefined;
      case "undefine":
        for (const name of node.names) scope.set(name, new SetLater(name));
        return undefined;
      case "autoescape":
        if (isTrue(this.evaluate(node.value, scope)))
          throw new TypeError("the tag 'autoescape' is not supported: prompts aren't escaped. Use the filter 'escape'");
        return this.run(node.body, new Scope(scope));
      case "unsupported":
        throw new TypeError(`the tag '${node.tag}' is not supported: a chat template has no other templates`);
      default:
        return node.type;
    }
  }

  #for(node: Statement & { type: "for" }, scope: Scope): Ending {
    const items = this.evaluate(node.iterable, scope);
    if (!node.isRecursive) return runLoop(node, items, scope, this);
    this.#write(this.written(() => void runLoop(node, items, scope, this)));
    return undefined;
  }

  /** Runs statements, and gives what they write to `use`, unless they end a loop's iteration. */
  #captured(body: readonly Statement[], scope: Scope, use: (text: string) => void): Ending {
    let ending: Ending;
    const text = this.written(() => {
      ending = this.run(body, new Scope(scope));
    });
    if (ending === undefined) use(text);
    return ending;
  }

  /** A block sees the template's variables, but not those of a loop around it unless it is scoped. */
  #block(block: Block, scope: Scope): void {
    if (block.isRequired) throw new TypeError(`Required block '${block.name}' not found`);
    this.run(block.body, new Scope(block.isScoped ? scope : this.#top, true));
  }

  #blocksByName(): Instance {
    return new Instance("TemplateReference", {
      attribute: (name) => {
        const block = this.program.blocks.get(name);
        if (block === undefined) return undefined;
        return callable(() =>
          this.written(() => {
            this.#block(block, this.#top);
          }),
        );
      },
    });
  }

  assign(target: Target, value: Value, scope: Scope): void {
    if (target.type === "name") {
      scope.set(target.name, value);
    } else if (target.type === "namespaceAttribute") {
      const object = scope.get(target.namespace) ?? new Undefined(`'${target.namespace}' is undefined`);
      if (!(object instanceof Namespace)) throw new TypeError("cannot assign attribute on non-namespace object");
      checkAttribute(target.name);
      object.attributes.set(target.name, value);
    } else {
      const items = Array.isArray(value) ? itemsOf(value) : Array.from(iterate(value));
      if (items.length !== target.items.length)
        throw new TypeError(`expected ${target.items.length} values to unpack (got ${items.length})`);
      target.items.forEach((part, i) => this.assign(part, items[i]!, scope));
    }
  }
}

/** The result of a filter or call around a block, which Jinja joins as it is. */
function writable(value: Value): Value {
  if (stringOf(value) === undefined) throw new TypeError(`a block must make a text (got ${typeName(value)})`);
  return value;
}
