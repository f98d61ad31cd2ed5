// The syntax tree of a template.
import type { Value } from "../values/values.js";

/** Arguments of a call, a filter or a test. */
export interface ArgumentNodes {
  readonly positional: readonly Node[];
  readonly keywords: readonly (readonly [string, Node])[];
  /** After `*` and `**`. */
  readonly list?: Node | undefined;
  readonly dict?: Node | undefined;
}

/** A filter of an operand: without one, of the text of a block. */
export interface Filter {
  readonly type: "filter";
  readonly operand: Node | undefined;
  readonly name: string;
  readonly args: ArgumentNodes;
}

export interface Call {
  readonly type: "call";
  readonly callee: Node;
  readonly args: ArgumentNodes;
}

/** What a variable, or several, are set to. */
export type Target =
  | { readonly type: "name"; readonly name: string }
  | { readonly type: "namespaceAttribute"; readonly namespace: string; readonly name: string }
  | { readonly type: "tuple"; readonly items: readonly Target[] };

export type ArithmeticOperator = "+" | "-" | "*" | "/" | "//" | "%" | "**";
export type Comparison = "==" | "!=" | "<" | ">" | "<=" | ">=" | "in" | "not in";

/** An expression. Operators that repeat are one node, so that a long tag isn't a deep tree. */
export type Node =
  | { readonly type: "name"; readonly name: string }
  | { readonly type: "constant"; readonly value: Value }
  | { readonly type: "list" | "tuple" | "concatenation"; readonly items: readonly Node[] }
  | { readonly type: "dict"; readonly entries: readonly (readonly [Node, Node])[] }
  | { readonly type: "and" | "or"; readonly operands: readonly Node[] }
  | { readonly type: "not"; readonly operand: Node; readonly isTwice: boolean }
  | { readonly type: "sign"; readonly operand: Node; readonly signs: string }
  | { readonly type: "arithmetic"; readonly operator: ArithmeticOperator; readonly left: Node; readonly right: Node }
  | {
      readonly type: "comparison";
      readonly first: Node;
      readonly others: readonly (readonly [Comparison, Node])[];
    }
  | {
      readonly type: "conditional";
      readonly branches: readonly { readonly test: Node; readonly value: Node }[];
      readonly otherwise: Node | undefined;
    }
  | { readonly type: "attribute"; readonly object: Node; readonly name: string }
  | { readonly type: "item"; readonly object: Node; readonly key: Node }
  | { readonly type: "slice"; readonly object: Node; readonly bounds: readonly (Node | undefined)[] }
  | { readonly type: "test"; readonly operand: Node; readonly name: string; readonly args: ArgumentNodes }
  | Filter
  | Call;

export interface Parameter {
  readonly name: string;
  readonly default: Node | undefined;
}

/** A macro, or the body of a call block. */
export interface Macro {
  readonly type: "macro";
  readonly name: string | undefined;
  readonly parameters: readonly Parameter[];
  readonly body: readonly Statement[];
  /** Which of the names `caller`, `varargs` and `kwargs` it reads from its call. */
  readonly uses: ReadonlySet<string>;
}

export interface For {
  readonly type: "for";
  readonly target: Target;
  readonly iterable: Node;
  readonly test: Node | undefined;
  readonly body: readonly Statement[];
  readonly otherwise: readonly Statement[];
  readonly isRecursive: boolean;
}

export interface Block {
  readonly type: "block";
  readonly name: string;
  readonly body: readonly Statement[];
  readonly isScoped: boolean;
  readonly isRequired: boolean;
}

export type Statement =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "print"; readonly value: Node }
  | {
      readonly type: "if";
      readonly branches: readonly { readonly test: Node; readonly body: readonly Statement[] }[];
      readonly otherwise: readonly Statement[];
    }
  | { readonly type: "set"; readonly target: Target; readonly value: Node }
  | {
      readonly type: "setBlock";
      readonly target: Target;
      readonly filter: Filter | undefined;
      readonly body: readonly Statement[];
    }
  | {
      readonly type: "with";
      readonly variables: readonly { readonly target: Target; readonly value: Node }[];
      readonly body: readonly Statement[];
    }
  | { readonly type: "callBlock"; readonly call: Call; readonly caller: Macro }
  | { readonly type: "filterBlock"; readonly filter: Filter; readonly body: readonly Statement[] }
  | { readonly type: "autoescape"; readonly value: Node; readonly body: readonly Statement[] }
  | { readonly type: "break" | "continue" }
  /** At the beginning of a scope: names that it sets before it reads them. */
  | { readonly type: "undefine"; readonly names: readonly string[] }
  | { readonly type: "unsupported"; readonly tag: string }
  | Macro
  | For
  | Block;

export interface Program {
  readonly body: readonly Statement[];
  readonly blocks: ReadonlyMap<string, Block>;
}
