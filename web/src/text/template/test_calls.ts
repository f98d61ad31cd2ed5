// Rewrites tests with arguments, such as `x is divisibleby(2)` and `x is eq 1`, which `@huggingface/jinja` doesn't parse, to filters.
import type { Token } from "./syntax.js";

const OPENING = ["OpenParen", "OpenSquareBracket", "OpenCurlyBracket"];
const CLOSING = ["CloseParen", "CloseSquareBracket", "CloseCurlyBracket"];
const STARTS_ARGUMENT = ["NumericLiteral", "StringLiteral", "Identifier", "OpenSquareBracket", "OpenCurlyBracket"];
const NO_ARGUMENT = ["and", "else", "if", "in", "is", "not", "or"];

/** What the name of such a filter starts with: no filter of a template can have a space in its name. */
export const TEST = "is ";
export const NEGATED_TEST = "is not ";

/** @param tokens those of one tag */
export function withTestCalls(tokens: readonly Token[]): readonly Token[] {
  const isName = (at: number, name?: string): boolean =>
    tokens[at]?.type === "Identifier" && (name === undefined || tokens[at].value === name);
  const rewritten: Token[] = [];
  /** Where each rewritten argument without parentheses ends. */
  const ends = new Map<number, number>();
  for (let at = 0; at < tokens.length; at++) {
    const isAttribute = tokens[at - 1]?.type === "Dot";
    const name = isName(at, "is") && !isAttribute ? (isName(at + 1, "not") ? at + 2 : at + 1) : undefined;
    const argument = tokens[(name ?? 0) + 1];
    const hasParentheses = argument?.type === "OpenParen";
    const takesArgument =
      hasParentheses ||
      (STARTS_ARGUMENT.includes(argument?.type ?? "") &&
        !(argument?.type === "Identifier" && NO_ARGUMENT.includes(argument.value)));
    if (name === undefined || !isName(name) || !takesArgument) {
      rewritten.push(tokens[at]!);
    } else {
      const prefix = name === at + 2 ? NEGATED_TEST : TEST;
      rewritten.push({ value: "|", type: "Pipe" }, { value: prefix + tokens[name]!.value, type: "Identifier" });
      if (!hasParentheses) {
        rewritten.push({ value: "(", type: "OpenParen" });
        const end = endOfArgument(tokens, name + 1);
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
      at = name;
    }
    for (let i = ends.get(at) ?? 0; i > 0; i--) rewritten.push({ value: ")", type: "CloseParen" });
  }
  return rewritten;
}

/** The index of the last token of a literal or name, with the brackets, calls and attributes that follow it. */
function endOfArgument(tokens: readonly Token[], start: number): number {
  let at = start;
  for (;;) {
    if (OPENING.includes(tokens[at]?.type ?? "")) {
      let depth = 0;
      for (; at < tokens.length; at++) {
        const { type } = tokens[at]!;
        if (OPENING.includes(type)) depth += 1;
        if (CLOSING.includes(type) && --depth === 0) break;
      }
    }
    const next = tokens[at + 1]?.type;
    if (next === "Dot") at += 2;
    else if (next === "OpenParen" || next === "OpenSquareBracket") at += 1;
    else return Math.min(at, tokens.length - 1);
  }
}
