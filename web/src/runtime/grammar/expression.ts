// What a text may look like: expressions over characters, and rules that name them.
import { spend } from "./work.js";

/** A range of code points, both ends included. */
export type Range = readonly [first: number, last: number];

/** A set of texts. */
export type Expression =
  | { readonly kind: "text"; readonly text: string }
  /** One character of the ranges, which are sorted and don't touch. */
  | { readonly kind: "set"; readonly ranges: readonly Range[] }
  | { readonly kind: "sequence"; readonly parts: readonly Expression[] }
  | { readonly kind: "choice"; readonly options: readonly Expression[] }
  | { readonly kind: "repeat"; readonly part: Expression; readonly least: number; readonly most: number }
  | { readonly kind: "rule"; readonly name: string }
  /** The texts that lead a machine from its first state to one where they may end. It has no dead states. */
  | { readonly kind: "machine"; readonly states: readonly MachineState[] };

/** A state of a machine: the texts of each edge lead to another state. */
export interface MachineState {
  readonly edges: readonly (readonly [on: Expression, to: number])[];
  readonly canEnd: boolean;
}

/** Rules by name. The text must match the rule `root`. */
export type Grammar = ReadonlyMap<string, Expression>;

/** The name of the first rule. */
export const ROOT = "root";

/** No text at all, not even the empty one. */
export const NOTHING: Expression = { kind: "choice", options: [] };

/** Only the empty text. */
export const EMPTY: Expression = { kind: "text", text: "" };

/** Every character that text can have: Unicode without the halves of surrogate pairs. */
export const ANY_CHARACTER: readonly Range[] = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
];

/** Whether no text matches. It doesn't look into rules. */
export function isNothing(expression: Expression): boolean {
  return expression.kind === "choice" && expression.options.length === 0;
}

/** One text. */
export function text(value: string): Expression {
  return { kind: "text", text: value };
}

/** The rule of a name. */
export function rule(name: string): Expression {
  return { kind: "rule", name };
}

/** One character of the ranges, in any order, which may overlap. A single character is a text, which joins those beside it. */
export function set(ranges: Iterable<Range>): Expression {
  const merged = mergeRanges(ranges);
  const [first] = merged;
  if (first === undefined) return NOTHING;
  if (merged.length > 1 || first[0] !== first[1]) return { kind: "set", ranges: merged };
  return text(String.fromCodePoint(first[0]));
}

/** One part after the other. */
export function sequence(...parts: readonly Expression[]): Expression {
  return sequenceOf(parts);
}

/** One part after the other. A list may be longer than a call has room for arguments. */
export function sequenceOf(parts: readonly Expression[]): Expression {
  const flat: Expression[] = [];
  for (const one of parts) {
    if (one.kind === "sequence") for (const part of one.parts) addPart(flat, part);
    else if (isNothing(one)) return NOTHING;
    else addPart(flat, one);
  }
  return flat.length === 0 ? EMPTY : flat.length === 1 ? flat[0]! : { kind: "sequence", parts: flat };
}

/** Adds a part that isn't a sequence. Texts beside each other are one. */
function addPart(flat: Expression[], part: Expression): void {
  spend(1);
  const last = flat[flat.length - 1];
  if (part.kind === "text" && last?.kind === "text") flat[flat.length - 1] = text(last.text + part.text);
  else if (part.kind !== "text" || part.text !== "") flat.push(part);
}

/** One of the options. */
export function choice(...options: readonly Expression[]): Expression {
  return choiceOf(options);
}

/** One of the options, which may be very many. */
export function choiceOf(options: readonly Expression[]): Expression {
  const flat = options.flatMap((one) => (one.kind === "choice" ? one.options : [one]));
  spend(1 + flat.length);
  return flat.length === 1 ? flat[0]! : { kind: "choice", options: flat };
}

/** A part `least` to `most` times. */
export function repeat(part: Expression, least: number, most = Infinity): Expression {
  if (most < least) return NOTHING;
  if (isNothing(part)) return least === 0 ? EMPTY : NOTHING;
  if (most === 0 || (part.kind === "text" && part.text === "")) return EMPTY;
  return least === 1 && most === 1 ? part : { kind: "repeat", part, least, most };
}

/** A part or nothing. */
export function optional(part: Expression): Expression {
  return repeat(part, 0, 1);
}

/** Sorted ranges that don't touch. */
export function mergeRanges(ranges: Iterable<Range>): Range[] {
  const sorted = [...ranges].filter(([first, last]) => first <= last).sort(([a], [b]) => a - b);
  spend(4 * sorted.length);
  const merged: [number, number][] = [];
  for (const [first, last] of sorted) {
    const previous = merged[merged.length - 1];
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

/** The characters of sorted ranges that are in others, which are sorted too. */
export function intersectRanges(ranges: readonly Range[], others: readonly Range[]): Range[] {
  const both: Range[] = [];
  for (let i = 0, j = 0; i < ranges.length && j < others.length;) {
    const [[first, last], [from, to]] = [ranges[i]!, others[j]!];
    if (Math.max(first, from) <= Math.min(last, to)) both.push([Math.max(first, from), Math.min(last, to)]);
    if (last < to) i += 1;
    else j += 1;
  }
  return both;
}

/** The characters that aren't in sorted ranges. */
export function otherRanges(ranges: readonly Range[]): Range[] {
  const others: Range[] = [];
  let next = 0;
  for (const [first, last] of ranges) {
    if (first > next) others.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= 0x10ffff) others.push([next, 0x10ffff]);
  return intersectRanges(others, ANY_CHARACTER);
}

/** The rules that a text can use and that match at least one text, without options that match none. */
export function usedRules(grammar: Grammar): Grammar {
  const finite = rulesWith(grammar, () => true);
  const used = new Map<string, Expression>();
  const open = [ROOT];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (used.has(name)) continue;
    const expression = finite.has(name) ? pruned(grammar.get(name)!, finite) : NOTHING;
    used.set(name, expression);
    eachRule(expression, (inside) => open.push(inside));
  }
  return used;
}

/** A part of a rule that waits until enough of its own parts have a property. */
interface Waiting {
  missing: number;
  /** What it is a part of; the name of its rule if it is no part. */
  readonly of: Waiting | string;
}

/**
 * The rules with a property: a sequence has it if all its parts do, a choice if an option does, and a repeat if it can be empty. Each part is
 * looked at once.
 * @param isTrue - whether an expression without parts has it
 */
export function rulesWith(grammar: Grammar, isTrue: (expression: Expression) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = new Map<string, (Waiting | string)[]>();
  const fulfil = (first: Waiting | string): void => {
    const open = [first];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      if (typeof one !== "string") {
        if (--one.missing === 0) open.push(one.of);
      } else if (!found.has(one)) {
        found.add(one);
        for (const user of waiting.get(one) ?? []) open.push(user);
        waiting.delete(one);
      }
    }
  };
  const visit = (expression: Expression, of: Waiting | string): void => {
    spend(1);
    if (expression.kind === "rule") {
      if (found.has(expression.name)) {
        fulfil(of);
        return;
      }
      const users = waiting.get(expression.name) ?? [];
      waiting.set(expression.name, users);
      users.push(of);
    } else if (expression.kind === "sequence" && expression.parts.length > 0) {
      const all: Waiting = { missing: expression.parts.length, of };
      for (const part of expression.parts) visit(part, all);
    } else if (expression.kind === "choice") {
      const any: Waiting = { missing: 1, of };
      for (const option of expression.options) visit(option, any);
    } else if (expression.kind === "repeat") {
      if (expression.least === 0) fulfil(of);
      else visit(expression.part, of);
    } else if (isTrue(expression)) fulfil(of);
  };
  for (const [name, expression] of grammar) visit(expression, name);
  return found;
}

/** An expression without the rules that no text matches. */
function pruned(expression: Expression, finite: ReadonlySet<string>): Expression {
  switch (expression.kind) {
    case "rule":
      return finite.has(expression.name) ? expression : NOTHING;
    case "sequence":
      return sequenceOf(expression.parts.map((part) => pruned(part, finite)));
    case "choice":
      return choiceOf(expression.options.map((option) => pruned(option, finite)));
    case "repeat":
      return repeat(pruned(expression.part, finite), expression.least, expression.most);
    default:
      return expression;
  }
}

/** Calls a function with the name of each rule in an expression. */
export function eachRule(expression: Expression, visit: (name: string) => void): void {
  if (expression.kind === "rule") visit(expression.name);
  else if (expression.kind === "sequence") for (const part of expression.parts) eachRule(part, visit);
  else if (expression.kind === "choice") for (const option of expression.options) eachRule(option, visit);
  else if (expression.kind === "repeat") eachRule(expression.part, visit);
}
