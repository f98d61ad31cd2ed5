// Runs Jinja templates with `@huggingface/jinja`, and corrects how its loops differ from Jinja's.

/** A node of a parsed template in `@huggingface/jinja`. */
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

/** The parts of `@huggingface/jinja` that this file uses. */
export interface Jinja {
  tokenize(template: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }): unknown;
  parse(tokens: unknown): unknown;
  Environment: new (parent?: Environment) => Environment;
  Interpreter: new (environment: Environment) => Interpreter;
}

/** Thrown by `break` and `continue` and caught by the loop. Carries the text written so far in this iteration. */
class LoopControl extends Error {
  text = "";
  readonly ends: boolean;

  constructor(ends: boolean) {
    super("break and continue must be inside a loop");
    this.ends = ends;
  }
}

/** Parses a template with transformers' settings, trim_blocks and lstrip_blocks. Throws what the library throws. */
export function parseTemplate(jinja: Jinja, template: string): unknown {
  // {% generation %} marks text for training and has no other effect. The library removes it before trimming whitespace, which would
  // differ from Jinja, so it becomes an ordinary block here.
  const plain = template
    .replace(/(\{%[-+]?\s*)generation(\s*[-+]?%\})/g, "$1if true$2")
    .replace(/(\{%[-+]?\s*)endgeneration(\s*[-+]?%\})/g, "$1endif$2");
  return jinja.parse(jinja.tokenize(plain, { lstrip_blocks: true, trim_blocks: true }));
}

/** Runs a parsed template. Throws what the library throws. */
export function runTemplate(jinja: Jinja, program: unknown, variables: Readonly<Record<string, unknown>>): string {
  const environment = new jinja.Environment();
  for (const [name, value] of Object.entries(variables)) {
    environment.variables.delete(name); // removes the library's variable if the caller's has the same name
    environment.set(name, value);
  }
  const interpreter = new jinja.Interpreter(environment);
  correctLoops(jinja, interpreter);
  return interpreter.run(program).value;
}

/**
 * Makes loops behave as in Jinja: `break` and `continue` keep the text written so far in the iteration, and a variable set in an
 * iteration ends with it. Version 0.5 of the library silently drops that text and keeps those variables.
 */
function correctLoops(jinja: Jinja, interpreter: Interpreter): void {
  // bodies of the running loops, and whether a break has ended each
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
    if (statement.type !== "For" || statement.body === undefined) return textOf(statement, scope);
    const outer = running.get(statement.body); // set if a recursive macro is already running this loop
    running.set(statement.body, { ended: false });
    try {
      return textOf(statement, scope);
    } finally {
      if (outer === undefined) running.delete(statement.body);
      else running.set(statement.body, outer);
    }
  }

  function textOf(statement: Statement, scope: Environment): string {
    const value = interpreter.evaluate(statement, scope);
    if (value.type === "BooleanValue") return value.toString() === "true" ? "True" : "False"; // as in Python
    return value.type === "NullValue" || value.type === "UndefinedValue" ? "" : value.toString();
  }
}
