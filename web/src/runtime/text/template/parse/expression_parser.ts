// Parses expressions, with the grammar and precedence of jinja2/parser.py.
import { lineAt, type Token } from "./lexer.js";
import type { ArgumentNodes, ArithmeticOperator, Comparison, Filter, Node } from "./syntax.js";
import type { Value } from "../values/values.js";

/** Nested brackets and blocks. Released templates nest about 15. Python's own limit lets Jinja nest about 70. */
const MAX_NESTED = 200;

const COMPARISONS = new Set(["==", "!=", "<", ">", "<=", ">="]);
const CONSTANTS: Readonly<Record<string, Value>> = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
};
const NO_ARGUMENTS: ArgumentNodes = { positional: [], keywords: [] };
/** Names that follow a test without being its argument. */
const AFTER_TEST = ["else", "or", "and"];
const STARTS_ARGUMENT = ["name", "string", "integer", "float", "[", "{"];

/** Filters and tests that exist. */
export interface Names {
  isFilter(name: string): boolean;
  isTest(name: string): boolean;
}

/** Whether a name is a constant, and so can't be set. */
export function isConstant(name: string): boolean {
  return Object.hasOwn(CONSTANTS, name);
}

/** Reads expressions from the tokens of a template. */
export abstract class ExpressionParser {
  #next = 0;
  #nested = 0;
  /** Whether what is read may never run: then a filter or test that doesn't exist is no error yet. */
  protected maySkip = false;
  /** Filters and tests that don't exist. */
  protected readonly unknown: { message: string; token: Token }[] = [];

  constructor(
    protected readonly source: string,
    private readonly tokens: readonly Token[],
    private readonly names: Names,
  ) {}

  protected get current(): Token {
    return this.tokens[this.#next]!;
  }

  protected peek(): Token {
    return this.tokens[Math.min(this.#next + 1, this.tokens.length - 1)]!;
  }

  protected take(): Token {
    const token = this.current;
    if (token.type !== "eof") this.#next += 1;
    return token;
  }

  protected fail(message: string, token = this.current): never {
    throw new SyntaxError(`${message} (line ${lineAt(this.source, token.at)})`);
  }

  /** Whether the current token is of a type, or is a name if `name` is given. */
  protected is(type: string, name?: string): boolean {
    const { current } = this;
    return current.type === type && (name === undefined || current.text === name);
  }

  protected isName(name: string): boolean {
    return this.is("name", name);
  }

  protected skip(type: string, name?: string): boolean {
    const found = this.is(type, name);
    if (found) this.take();
    return found;
  }

  protected expect(type: string, name?: string): Token {
    if (!this.is(type, name)) this.fail(`expected ${name ?? shown(type)}, got ${this.described()}`);
    return this.take();
  }

  protected described(): string {
    const { type, text } = this.current;
    return type === "name" ? `'${text}'` : shown(type);
  }

  /** Reads something that can hold more of its kind. */
  protected nested<T>(read: () => T): T {
    if (this.#nested === MAX_NESTED) this.fail("it nests too deeply");
    this.#nested += 1;
    try {
      return read();
    } finally {
      this.#nested -= 1;
    }
  }

  /** An expression, with `a if b else c` unless it is left out. */
  expression(withCondition = true): Node {
    return this.nested(() => (withCondition ? this.#conditional() : this.#or()));
  }

  /** `a if b else c if d else e`, read without recursion. */
  #conditional(): Node {
    const known = this.unknown.length;
    let value = this.#or();
    if (!this.isName("if")) return value;
    const branches: { test: Node; value: Node }[] = [];
    while (this.skip("name", "if")) {
      const test = this.#or();
      if (this.skip("name", "else")) {
        branches.push({ test, value });
        value = this.#or();
      } else {
        value = { type: "conditional", branches: [{ test, value }], otherwise: undefined };
      }
    }
    this.unknown.length = known; // any part of it may be skipped
    return branches.length === 0 ? value : { type: "conditional", branches, otherwise: value };
  }

  #or(): Node {
    const operands = [this.#and()];
    while (this.skip("name", "or")) operands.push(this.#and());
    return operands.length === 1 ? operands[0]! : { type: "or", operands };
  }

  #and(): Node {
    const operands = [this.#not()];
    while (this.skip("name", "and")) operands.push(this.#not());
    return operands.length === 1 ? operands[0]! : { type: "and", operands };
  }

  #not(): Node {
    let count = 0;
    while (this.skip("name", "not")) count += 1;
    const operand = this.#comparison();
    return count === 0 ? operand : { type: "not", operand, isTwice: count % 2 === 0 };
  }

  #comparison(): Node {
    const first = this.#sum();
    const others: [Comparison, Node][] = [];
    for (;;) {
      if (COMPARISONS.has(this.current.type)) others.push([this.take().type as Comparison, this.#sum()]);
      else if (this.skip("name", "in")) others.push(["in", this.#sum()]);
      else if (this.isName("not") && this.peek().type === "name" && this.peek().text === "in") {
        this.take();
        this.take();
        others.push(["not in", this.#sum()]);
      } else return others.length === 0 ? first : { type: "comparison", first, others };
    }
  }

  #leftToRight(operators: readonly string[], read: () => Node): Node {
    let left = read();
    while (operators.includes(this.current.type)) {
      const operator = this.take().type as ArithmeticOperator;
      left = { type: "arithmetic", operator, left, right: read() };
    }
    return left;
  }

  readonly #sum = (): Node => this.#leftToRight(["+", "-"], this.#concatenation);

  /** `~` binds more tightly than `+`. */
  readonly #concatenation = (): Node => {
    const items = [this.#product()];
    while (this.skip("~")) items.push(this.#product());
    return items.length === 1 ? items[0]! : { type: "concatenation", items };
  };

  readonly #product = (): Node => this.#leftToRight(["*", "/", "//", "%"], this.#power);

  readonly #power = (): Node => this.#leftToRight(["**"], this.#unary);

  /** Filters apply to the operand with its signs: `-1 | abs` is 1. */
  readonly #unary = (): Node => {
    let signs = "";
    while (this.is("-") || this.is("+")) signs += this.take().type;
    const operand = this.#postfix(this.primary());
    return this.#filtersAndTests(signs === "" ? operand : { type: "sign", operand, signs });
  };

  protected primary(): Node {
    const token = this.take();
    switch (token.type) {
      case "name":
        if (isConstant(token.text)) return { type: "constant", value: CONSTANTS[token.text]! };
        this.noteName(token.text, false);
        return { type: "name", name: token.text };
      case "string": {
        const parts = [token.value as string];
        while (this.is("string")) parts.push(this.take().value as string);
        return { type: "constant", value: parts.length === 1 ? parts[0]! : parts.join("") };
      }
      case "integer":
      case "float":
        return { type: "constant", value: token.value! };
      case "(": {
        const inside = this.tuple({ isEmptyAllowed: true });
        this.expect(")");
        return inside;
      }
      case "[":
        return { type: "list", items: this.#items("]", () => this.expression()) };
      case "{":
        return { type: "dict", entries: this.#items("}", () => this.#entry()) };
      default:
        this.fail(`unexpected ${shown(token.type)}`, token);
    }
  }

  /** Told of each name that is read or set. */
  protected abstract noteName(name: string, isSet: boolean): void;

  #entry(): [Node, Node] {
    const key = this.expression();
    this.expect(":");
    return [key, this.expression()];
  }

  #items<T>(closing: string, read: () => T): T[] {
    const items: T[] = [];
    while (!this.is(closing)) {
      if (items.length > 0) this.expect(",");
      if (this.is(closing)) break;
      items.push(read());
    }
    this.expect(closing);
    return items;
  }

  /** One expression, or several with commas between them. `end` is a name that ends it. */
  tuple(options: { withCondition?: boolean; end?: string; isEmptyAllowed?: boolean; read?: () => Node } = {}): Node {
    const { withCondition = true, end, isEmptyAllowed = false } = options;
    const read = options.read ?? ((): Node => this.expression(withCondition));
    const items: Node[] = [];
    let isTuple = false;
    for (;;) {
      if (items.length > 0) this.expect(",");
      if (["variable_end", "block_end", ")"].includes(this.current.type) || (end !== undefined && this.isName(end)))
        break;
      items.push(read());
      if (!this.is(",")) break;
      isTuple = true;
    }
    if (!isTuple && items.length > 0) return items[0]!;
    if (!isTuple && !isEmptyAllowed) this.fail(`expected an expression, got ${this.described()}`);
    return { type: "tuple", items };
  }

  #postfix(operand: Node): Node {
    let node = operand;
    for (;;) {
      if (this.skip(".")) node = this.#attribute(node);
      else if (this.skip("[")) node = this.#subscript(node);
      else if (this.is("(")) node = { type: "call", callee: node, args: this.arguments() };
      else return node;
    }
  }

  #attribute(object: Node): Node {
    const token = this.take();
    if (token.type === "name") return { type: "attribute", object, name: token.text };
    if (token.type !== "integer") this.fail("expected name or number", token);
    return { type: "item", object, key: { type: "constant", value: token.value! } };
  }

  #subscript(object: Node): Node {
    const keys: (Node | (Node | undefined)[])[] = [];
    while (!this.is("]")) {
      if (keys.length > 0) this.expect(",");
      keys.push(this.#keyOrSlice());
    }
    this.expect("]");
    const [key] = keys;
    if (keys.length === 1)
      return Array.isArray(key) ? { type: "slice", object, bounds: key } : { type: "item", object, key: key! };
    if (keys.some((part) => Array.isArray(part))) this.fail("a slice beside another index is not supported");
    return { type: "item", object, key: { type: "tuple", items: keys as Node[] } };
  }

  #keyOrSlice(): Node | (Node | undefined)[] {
    const bounds: (Node | undefined)[] = [];
    const bound = (): Node | undefined =>
      this.is(":") || this.is("]") || this.is(",") ? undefined : this.expression();
    bounds.push(bound());
    if (!this.is(":")) return bounds[0] ?? this.fail("expected an index");
    while (bounds.length < 3 && this.skip(":")) bounds.push(bound());
    return bounds;
  }

  #filtersAndTests(operand: Node): Node {
    let node = operand;
    for (;;) {
      if (this.is("|")) node = this.filters(node)!;
      else if (this.isName("is")) node = this.#test(node);
      else if (this.is("(")) node = { type: "call", callee: node, args: this.arguments() };
      else return node;
    }
  }

  /** Filters of an operand. `startsWithName`: the first `|` is left out. */
  filters(operand: Node | undefined, startsWithName = false): Node | undefined {
    let node = operand;
    for (let isFirst = startsWithName; isFirst || this.skip("|"); isFirst = false) {
      const token = this.current;
      const name = this.#dottedName();
      if (!this.names.isFilter(name)) this.#noteUnknown(`No filter named '${name}'`, token);
      const args = this.is("(") ? this.arguments() : NO_ARGUMENTS;
      node = { type: "filter", operand: node, name, args } satisfies Filter;
    }
    return node;
  }

  #noteUnknown(message: string, token: Token): void {
    if (!this.maySkip) this.unknown.push({ message, token });
  }

  #dottedName(): string {
    let name = this.expect("name").text;
    while (this.skip(".")) name += `.${this.expect("name").text}`;
    return name;
  }

  #test(operand: Node): Node {
    const start = this.take();
    const isNegated = this.skip("name", "not");
    const name = this.#dottedName();
    if (!this.names.isTest(name)) this.#noteUnknown(`No test named '${name}'`, start);
    let args = NO_ARGUMENTS;
    if (this.is("(")) args = this.arguments();
    else if (
      STARTS_ARGUMENT.includes(this.current.type) &&
      !(this.is("name") && AFTER_TEST.includes(this.current.text))
    ) {
      if (this.isName("is")) this.fail("You cannot chain multiple tests with is");
      args = { positional: [this.#postfix(this.nested(() => this.primary()))], keywords: [] };
    }
    const test: Node = { type: "test", operand, name, args };
    return isNegated ? { type: "not", operand: test, isTwice: false } : test;
  }

  arguments(): ArgumentNodes {
    const start = this.expect("(");
    const positional: Node[] = [];
    const keywords: [string, Node][] = [];
    const names = new Set<string>();
    let list: Node | undefined;
    let dict: Node | undefined;
    const check = (isValid: boolean): void => {
      if (!isValid) this.fail("invalid syntax for function call expression", start);
    };
    for (let isFirst = true; !this.is(")"); isFirst = false) {
      if (!isFirst) this.expect(",");
      if (this.is(")")) break;
      if (this.skip("*")) {
        check(list === undefined && dict === undefined);
        list = this.expression();
      } else if (this.skip("**")) {
        check(dict === undefined);
        dict = this.expression();
      } else if (this.is("name") && this.peek().type === "=") {
        check(dict === undefined);
        const name = this.take().text;
        this.take();
        if (names.has(name)) this.fail(`keyword argument repeated: ${name}`, start);
        names.add(name);
        keywords.push([name, this.expression()]);
      } else {
        check(list === undefined && dict === undefined && keywords.length === 0);
        positional.push(this.expression());
      }
    }
    this.expect(")");
    return { positional, keywords, list, dict };
  }
}

const SHOWN: Readonly<Record<string, string>> = {
  eof: "the end of the template",
  block_begin: "'{%'",
  block_end: "'%}'",
  variable_begin: "'{{'",
  variable_end: "'}}'",
  data: "text",
  name: "a name",
};

function shown(type: string): string {
  return SHOWN[type] ?? (/^[a-z]+$/.test(type) ? type : `'${type}'`);
}
