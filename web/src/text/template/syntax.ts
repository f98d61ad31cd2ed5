// Templates as `@huggingface/jinja` parses them, and the parts of that package that this one uses.

/** A token of a template. */
export interface Token {
  value: string;
  type: string;
}

/** The library's module. */
export interface Jinja {
  tokenize(template: string): Token[];
  parse(tokens: Token[]): Program;
}

export interface Program {
  type: "Program";
  body: Node[];
}

export interface Identifier {
  type: "Identifier";
  value: string;
}

export interface Call {
  type: "CallExpression";
  callee: Node;
  args: Node[];
}

export interface Slice {
  type: "SliceExpression";
  start?: Node;
  stop?: Node;
  step?: Node;
}

export interface For {
  type: "For";
  loopvar: Node;
  iterable: Node;
  body: Node[];
  defaultBlock: Node[];
}

export interface Macro {
  type: "Macro";
  name: Identifier;
  args: Node[];
  body: Node[];
}

export interface CallBlock {
  type: "CallStatement";
  call: Call;
  callerArgs: Node[] | null;
  body: Node[];
}

export interface SetStatement {
  type: "Set";
  assignee: Node;
  value: Node | null;
  body: Node[];
}

export interface Binary {
  type: "BinaryExpression";
  operator: Token;
  left: Node;
  right: Node;
}

export interface Member {
  type: "MemberExpression";
  object: Node;
  property: Node;
  computed: boolean;
}

/** A filter: its name, or a call of it. */
export type Filter = Identifier | Call;

/** Statements and expressions. Text between tags is a string literal. */
export type Node =
  | Identifier
  | Call
  | Slice
  | For
  | Macro
  | CallBlock
  | SetStatement
  | Binary
  | Member
  | { type: "If"; test: Node; body: Node[]; alternate: Node[] }
  | { type: "Break" | "Continue" | "Comment" }
  | { type: "IntegerLiteral" | "FloatLiteral"; value: number }
  | { type: "StringLiteral"; value: string }
  | { type: "ArrayLiteral" | "TupleLiteral"; value: Node[] }
  | { type: "ObjectLiteral"; value: Map<Node, Node> }
  | { type: "FilterExpression"; operand: Node; filter: Filter }
  | { type: "FilterStatement"; filter: Filter; body: Node[] }
  | { type: "SelectExpression"; lhs: Node; test: Node }
  | { type: "TestExpression"; operand: Node; negate: boolean; test: Identifier }
  | { type: "UnaryExpression"; operator: Token; argument: Node }
  | { type: "KeywordArgumentExpression"; key: Identifier; value: Node }
  | { type: "SpreadExpression" | "KeywordSpreadExpression"; argument: Node }
  | { type: "Ternary"; condition: Node; trueExpr: Node; falseExpr: Node };
