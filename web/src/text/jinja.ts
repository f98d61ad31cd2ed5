/** A part of a parsed template, as `@huggingface/jinja` has it. */
interface Statement {
  type: string;
  body?: Statement[];
}

interface Environment {
  variables: Map<string, unknown>;
  set(name: string, value: unknown): unknown;
}

interface Text {
  value: string;
}

interface Interpreter {
  run(program: unknown): Text;
  evaluate(statement: Statement, environment: Environment): { type: string; toString(): string };
  evaluateBlock(statements: Statement[], environment: Environment): Text;
}

/** What we use of `@huggingface/jinja`. */
export interface Jinja {
  tokenize(template: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }): unknown;
  parse(tokens: unknown): unknown;
  Environment: new (parent?: Environment) => Environment;
  Interpreter: new (environment: Environment) => Interpreter;
}

/** A `break` or `continue` on its way to its loop, with what was written before it. */
class LoopControl extends Error {
  text = "";
  readonly ends: boolean;

  constructor(ends: boolean) {
    super("break and continue belong in a loop");
    this.ends = ends;
  }
}

/** Parses a template as transformers does: no line end after a block, no blanks before one. Throws what the library throws. */
export function parseTemplate(jinja: Jinja, template: string): unknown {
  // marks of what is trained on, otherwise blocks like any other; the library takes them out before white space is settled
  const plain = template
    .replace(/(\{%[-+]?\s*)generation(\s*[-+]?%\})/g, "$1if true$2")
    .replace(/(\{%[-+]?\s*)endgeneration(\s*[-+]?%\})/g, "$1endif$2");
  return jinja.parse(jinja.tokenize(plain, { lstrip_blocks: true, trim_blocks: true }));
}

/** Runs a parsed template. Throws what the library throws. */
export function runTemplate(jinja: Jinja, program: unknown, variables: Readonly<Record<string, unknown>>): string {
  const environment = new jinja.Environment();
  for (const [name, value] of Object.entries(variables)) {
    environment.variables.delete(name); // the library's own, where a caller's variable has the same name
    environment.set(name, value);
  }
  const interpreter = new jinja.Interpreter(environment);
  correctLoops(jinja, interpreter);
  return interpreter.run(program).value;
}

/**
 * Makes loops those of Jinja: `break` and `continue` keep what their round has written, and what is set in a round ends with it.
 * Version 0.5 of the library drops the one and keeps the other, in silence.
 */
function correctLoops(jinja: Jinja, interpreter: Interpreter): void {
  // bodies of the loops that are running, and whether a break has ended the loop
  const running = new Map<readonly Statement[], { ended: boolean }>();
  const textValue = (text: string) => new jinja.Environment().set("text", text) as Text;

  interpreter.evaluateBlock = (statements, environment) => {
    const loop = running.get(statements);
    if (loop?.ended === true) return textValue("");
    const scope = loop === undefined ? environment : new jinja.Environment(environment);
    let text = "";
    for (const statement of statements) {
      try {
        text += evaluate(statement, scope);
      } catch (error) {
        if (!(error instanceof LoopControl)) throw error;
        error.text = text + error.text;
        if (loop === undefined) throw error;
        loop.ended = error.ends;
        return textValue(error.text);
      }
    }
    return textValue(text);
  };

  function evaluate(statement: Statement, scope: Environment): string {
    if (statement.type === "Break" || statement.type === "Continue") throw new LoopControl(statement.type === "Break");
    if (statement.type !== "For" || statement.body === undefined) return written(statement, scope);
    const outer = running.get(statement.body); // the same loop, in a macro that calls itself
    running.set(statement.body, { ended: false });
    try {
      return written(statement, scope);
    } finally {
      if (outer === undefined) running.delete(statement.body);
      else running.set(statement.body, outer);
    }
  }

  function written(statement: Statement, scope: Environment): string {
    const value = interpreter.evaluate(statement, scope);
    if (value.type === "BooleanValue") return value.toString() === "true" ? "True" : "False"; // as Python writes them
    return value.type === "NullValue" || value.type === "UndefinedValue" ? "" : value.toString();
  }
}
