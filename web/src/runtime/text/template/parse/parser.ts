// Parses the statements of a template, with the grammar of jinja2/parser.py and of the extensions that transformers adds.
import { ExpressionParser, isConstant, type Names } from "./expression_parser.js";
import { normalized, tokensOf } from "./lexer.js";
import { ScopeNotes } from "./scope_notes.js";
import type { Block, Filter, Macro, Node, Parameter, Program, Statement, Target } from "./syntax.js";

/** Parses a template. Takes linear time. @throws SyntaxError */
export function parse(template: string, names: Names): Program {
  const source = normalized(template);
  return new Parser(source, tokensOf(source), names).program();
}

/** Names that a macro's call sets if the macro reads them. */
const SPECIAL_NAMES = ["caller", "varargs", "kwargs"];

class Parser extends ExpressionParser {
  readonly #blocks = new Map<string, Block>();
  /** For each open macro, which special names it reads before it sets them. */
  readonly #macros: Map<string, "read" | "set">[] = [];
  /** Of the scope that is read. */
  #notes = new ScopeNotes(undefined);
  /** What is to be done when the whole template is read. */
  readonly #atEnd: (() => void)[] = [];
  #isInLoop = false;
  #isTarget = false;

  program(): Program {
    const body = this.#inside(false, () => this.#statements(), this.#notes);
    const [unknown] = this.unknown;
    if (unknown !== undefined) this.fail(unknown.message, unknown.token);
    for (const end of this.#atEnd) end();
    return { body, blocks: this.#blocks };
  }

  protected override noteName(name: string, isSet: boolean): void {
    if (!isSet && !this.#isTarget) this.#notes.note(name, false);
    if (!SPECIAL_NAMES.includes(name) || (this.#isTarget && !isSet)) return;
    for (const macro of this.#macros) if (!macro.has(name)) macro.set(name, isSet ? "set" : "read");
  }

  /** Notes what a tag sets, after the value that it reads. */
  #noteSet(target: Target): void {
    if (target.type === "tuple") for (const item of target.items) this.#noteSet(item);
    else if (target.type === "namespaceAttribute") this.#notes.note(target.namespace, false);
    else this.#notes.note(target.name, true);
  }

  /** Statements up to one of the end tags, whose name is returned. */
  #statementsUntil(...ends: string[]): [Statement[], string] {
    this.skip(":");
    this.expect("block_end");
    const body = this.nested(() => this.#statements(ends));
    if (this.is("eof")) this.fail(`unexpected end of the template: looking for ${ends.join(" or ")}`);
    return [body, this.take().text];
  }

  #body(end: string): Statement[] {
    return this.#statementsUntil(end)[0];
  }

  /** Statements with a scope of their own. `isInLoop`: they may end a loop. */
  #inside(isInLoop: boolean, read: () => Statement[], notes = new ScopeNotes(this.#notes)): Statement[] {
    const body = this.#apart(isInLoop, notes, read);
    const names: string[] = [];
    this.#atEnd.push(() => void names.push(...notes.undefinedAtFirst()));
    return [{ type: "undefine", names }, ...body];
  }

  #apart<T>(isInLoop: boolean, notes: ScopeNotes, read: () => T): T {
    const [wasInLoop, maySkip, outside] = [this.#isInLoop, this.maySkip, this.#notes];
    this.#isInLoop = isInLoop;
    this.maySkip = false;
    this.#notes = notes;
    try {
      return read();
    } finally {
      this.#isInLoop = wasInLoop;
      this.maySkip = maySkip;
      this.#notes = outside;
    }
  }

  #statements(ends: readonly string[] = []): Statement[] {
    const body: Statement[] = [];
    for (;;) {
      const token = this.current;
      if (token.type === "eof") return body;
      this.take();
      if (token.type === "data") {
        body.push({ type: "text", text: token.text });
      } else if (token.type === "variable_begin") {
        body.push({ type: "print", value: this.tuple() });
        this.expect("variable_end");
      } else {
        if (this.is("name") && ends.includes(this.current.text)) return body;
        body.push(...this.#statement());
        this.expect("block_end");
      }
    }
  }

  #statement(): Statement[] {
    const tag = this.expect("name");
    switch (tag.text) {
      case "if":
        return [this.#if()];
      case "for":
        return [this.#for()];
      case "set":
        return [this.#set()];
      case "with":
        return [this.#with()];
      case "macro":
        return [this.#macro()];
      case "call":
        return [this.#call()];
      case "filter":
        return [this.#filter()];
      case "print":
        return this.#print();
      case "block":
        return [this.#block()];
      case "autoescape": {
        const value = this.expression();
        return [{ type: "autoescape", value, body: this.#inside(this.#isInLoop, () => this.#body("endautoescape")) }];
      }
      case "generation": // marks text for training, and has no other effect
        return [{ type: "with", variables: [], body: this.#inside(false, () => this.#body("endgeneration")) }];
      case "break":
      case "continue":
        if (!this.#isInLoop) this.fail(`'${tag.text}' outside loop`, tag);
        return [{ type: tag.text }];
      case "include":
      case "import":
      case "from":
      case "extends":
        while (!this.is("block_end") && !this.is("eof")) this.take();
        return [{ type: "unsupported", tag: tag.text }];
      default:
        this.fail(`Encountered unknown tag '${tag.text}'`, tag);
    }
  }

  #if(): Statement {
    const before = this.maySkip;
    this.maySkip = true;
    const branches: { test: Node; body: Statement[] }[] = [];
    let otherwise: Statement[] = [];
    this.#notes.branches((branch) => {
      let end: string;
      do {
        const test = this.tuple({ withCondition: false });
        end = "";
        branch(() => {
          const [body, next] = this.#statementsUntil("elif", "else", "endif");
          branches.push({ test, body });
          end = next;
        });
      } while (end === "elif");
      branch(() => {
        if (end === "else") otherwise = this.#body("endif");
      });
    });
    this.maySkip = before;
    return { type: "if", branches, otherwise };
  }

  #for(): Statement {
    const target = this.#target("in");
    if (names(target).includes("loop")) this.fail("Can't assign to special loop variable in for-loop target");
    this.expect("name", "in");
    const iterable = this.tuple({ withCondition: false, end: "recursive" });
    const test = this.skip("name", "if")
      ? this.#apart(false, new ScopeNotes(this.#notes), () => this.expression())
      : undefined;
    const isRecursive = this.skip("name", "recursive");
    let end = "";
    const read = (): Statement[] => {
      const [statements, next] = this.#statementsUntil("endfor", "else");
      end = next;
      return statements;
    };
    const body = this.#inside(true, read, new ScopeNotes(this.#notes, [...names(target), "loop"]));
    const otherwise = end === "else" ? this.#inside(this.#isInLoop && !isRecursive, () => this.#body("endfor")) : [];
    return { type: "for", target, iterable, test, body, otherwise, isRecursive };
  }

  #set(): Statement {
    const target = this.#target(undefined, true);
    if (this.skip("=")) {
      const value = this.tuple();
      this.#noteSet(target);
      return { type: "set", target, value };
    }
    this.#noteSet(target);
    const filter = this.filters(undefined) as Filter | undefined;
    const body = this.#inside(this.#isInLoop, () => this.#body("endset"));
    return { type: "setBlock", target, filter, body };
  }

  #with(): Statement {
    const variables: { target: Target; value: Node }[] = [];
    while (!this.is("block_end")) {
      if (variables.length > 0) this.expect(",");
      const target = this.#target();
      this.expect("=");
      variables.push({ target, value: this.expression() });
    }
    const notes = new ScopeNotes(
      this.#notes,
      variables.flatMap(({ target }) => names(target)),
    );
    return { type: "with", variables, body: this.#inside(this.#isInLoop, () => this.#body("endwith"), notes) };
  }

  #print(): Statement[] {
    const printed: Statement[] = [];
    while (!this.is("block_end")) {
      if (printed.length > 0) this.expect(",");
      printed.push({ type: "print", value: this.expression() });
    }
    return printed;
  }

  #macro(): Macro {
    const name = this.#name();
    this.noteName(name, true);
    this.#notes.note(name, true);
    const notes = new ScopeNotes(this.#notes);
    const parameters = this.#apart(false, notes, () => this.#parameters());
    return this.#function(name, parameters, "endmacro", notes);
  }

  #call(): Statement {
    const notes = new ScopeNotes(this.#notes);
    const parameters = this.is("(") ? this.#apart(false, notes, () => this.#parameters()) : [];
    const token = this.current;
    const call = this.expression();
    if (call.type !== "call") this.fail("expected call", token);
    return { type: "callBlock", call, caller: this.#function(undefined, parameters, "endcall", notes) };
  }

  #function(name: string | undefined, parameters: readonly Parameter[], end: string, notes: ScopeNotes): Macro {
    const special = new Map<string, "read" | "set">();
    const start = this.current;
    this.#macros.push(special);
    for (const parameter of parameters) notes.note(parameter.name, false);
    const body = this.#inside(false, () => this.#body(end), notes);
    this.#macros.pop();
    const uses = new Set(SPECIAL_NAMES.filter((other) => special.get(other) === "read"));
    const caller = parameters.find((parameter) => parameter.name === "caller");
    if (uses.has("caller") && caller !== undefined && caller.default === undefined)
      this.fail('the special "caller" argument must be omitted or be given a default', start);
    for (const parameter of parameters) if (parameter.name !== "caller") uses.delete(parameter.name);
    return { type: "macro", name, parameters, body, uses };
  }

  #parameters(): Parameter[] {
    const parameters: Parameter[] = [];
    this.expect("(");
    while (!this.is(")")) {
      if (parameters.length > 0) this.expect(",");
      const token = this.current;
      const name = this.#name();
      if (parameters.some((other) => other.name === name)) this.fail(`duplicate argument '${name}'`, token);
      const hasDefault = this.skip("=");
      if (!hasDefault && parameters.at(-1)?.default !== undefined)
        this.fail("non-default argument follows default argument", token);
      parameters.push({ name, default: hasDefault ? this.expression() : undefined });
    }
    this.expect(")");
    return parameters;
  }

  #filter(): Statement {
    const filter = this.#apart(this.#isInLoop, this.#notes, () => this.filters(undefined, true) as Filter);
    return { type: "filterBlock", filter, body: this.#inside(this.#isInLoop, () => this.#body("endfilter")) };
  }

  #block(): Block {
    const token = this.current;
    const name = this.expect("name").text;
    const isScoped = this.skip("name", "scoped");
    const isRequired = this.skip("name", "required");
    const body = this.#inside(false, () => this.#body("endblock"), new ScopeNotes(undefined));
    const isBlank = body.every((one) => one.type === "undefine" || (one.type === "text" && one.text.trim() === ""));
    if (isRequired && !isBlank) this.fail("Required blocks can only contain comments or whitespace", token);
    this.skip("name", name);
    if (this.#blocks.has(name)) this.fail(`block '${name}' defined twice`, token);
    const block: Block = { type: "block", name, body, isScoped, isRequired };
    this.#blocks.set(name, block);
    return block;
  }

  #name(): string {
    const token = this.expect("name");
    if (isConstant(token.text)) this.fail("can't assign to a constant", token);
    return token.text;
  }

  /** What is set: a name, an attribute of a namespace if it is allowed, or several. */
  #target(end?: string, withNamespace = false): Target {
    const token = this.current;
    const attributes = new Map<Node, Target>();
    const read = (): Node => {
      const { current } = this;
      if (withNamespace && current.type === "name" && this.peek().type === "." && !isConstant(current.text)) {
        this.take();
        this.take();
        const node: Node = { type: "name", name: current.text };
        attributes.set(node, { type: "namespaceAttribute", namespace: current.text, name: this.expect("name").text });
        return node;
      }
      return this.nested(() => this.primary());
    };
    const targetOf = (node: Node): Target => {
      const attribute = attributes.get(node);
      if (attribute !== undefined) return attribute;
      if (node.type === "tuple") return { type: "tuple", items: node.items.map(targetOf) };
      if (node.type !== "name") this.fail(`can't assign to ${node.type}`, token);
      this.noteName(node.name, true);
      return { type: "name", name: node.name };
    };
    this.#isTarget = true;
    const node = this.tuple({ read, ...(end === undefined ? {} : { end }) });
    this.#isTarget = false;
    return targetOf(node);
  }
}

function names(target: Target): string[] {
  if (target.type === "name") return [target.name];
  return target.type === "tuple" ? target.items.flatMap(names) : [];
}
