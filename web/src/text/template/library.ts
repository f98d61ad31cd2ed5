// The parts of `@huggingface/jinja` that this package uses.

/** A token of a template. */
export interface Token {
  value: string;
  type: string;
}

/** A node of a parsed template. */
export interface Statement {
  type: string;
  body?: Statement[];
}

/** A value while a template runs. Arrays and objects hold further ones. */
export interface Value {
  type: string;
  value: unknown;
  toString(): string;
}

export interface StringValue extends Value {
  value: string;
  builtins: ReadonlyMap<string, Value>;
}

/** What calls a function of a template. The last argument may hold the named ones. */
export type Callable = (args: Value[], scope: Environment) => Value;

export interface Environment {
  parent?: Environment;
  variables: Map<string, Value>;
  set(name: string, value: unknown): Value;
}

export interface FilterNode extends Statement {
  callee?: Statement & { value?: unknown };
  value?: unknown;
  args?: Statement[];
}

/** Evaluates the nodes of a template. The methods call each other through the object, so each can be replaced on it. */
export interface Interpreter {
  run(program: unknown): StringValue;
  evaluate(statement: Statement | undefined, environment: Environment): Value;
  evaluateBlock(statements: Statement[], environment: Environment): StringValue;
  evaluateIdentifier(node: Statement & { value: string }, environment: Environment): Value;
  evaluateBinaryExpression(node: BinaryNode, environment: Environment): Value;
  evaluateMemberExpression(node: MemberNode, environment: Environment): Value;
  evaluateTestExpression(node: Statement & { operand: Statement }, environment: Environment): Value;
  evaluateFor(node: ForNode, environment: Environment): StringValue;
  evaluateCallExpression(node: Statement, environment: Environment): Value;
  evaluateArguments(args: Statement[], environment: Environment): [Value[], Map<string, Value>];
  applyFilter(operand: Value, filter: FilterNode, environment: Environment): Value;
}

export interface BinaryNode extends Statement {
  operator: { value: string };
  left: Statement;
  right: Statement;
}

export interface MemberNode extends Statement {
  object: Statement;
  property: Statement;
}

export interface ForNode extends Statement {
  iterable: Statement & { lhs?: Statement };
}

/** The library's module. */
export interface Jinja {
  tokenize(template: string): Token[];
  parse(tokens: Token[]): unknown;
  Environment: new (parent?: Environment) => Environment;
  Interpreter: new (environment: Environment) => Interpreter;
}
