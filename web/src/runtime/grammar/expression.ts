// What a text may look like: expressions over characters, and rules that name them.

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

/** One character of the ranges, in any order, which may overlap. */
export function set(ranges: Iterable<Range>): Expression {
  const merged = mergeRanges(ranges);
  return merged.length === 0 ? NOTHING : { kind: "set", ranges: merged };
}

/** One part after the other. */
export function sequence(...parts: readonly Expression[]): Expression {
  return sequenceOf(parts);
}

/** One part after the other. A list may be longer than a call has room for arguments. */
export function sequenceOf(parts: readonly Expression[]): Expression {
  const flat: Expression[] = [];
  for (const part of parts.flatMap((one) => (one.kind === "sequence" ? one.parts : [one]))) {
    if (isNothing(part)) return NOTHING;
    const last = flat[flat.length - 1];
    if (part.kind === "text" && last?.kind === "text") flat[flat.length - 1] = text(last.text + part.text);
    else if (part.kind !== "text" || part.text !== "") flat.push(part);
  }
  return flat.length === 0 ? EMPTY : flat.length === 1 ? flat[0]! : { kind: "sequence", parts: flat };
}

/** One of the options. */
export function choice(...options: readonly Expression[]): Expression {
  return choiceOf(options);
}

/** One of the options, which may be very many. */
export function choiceOf(options: readonly Expression[]): Expression {
  const flat = options.flatMap((one) => (one.kind === "choice" ? one.options : [one]));
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
  return ranges.flatMap(([first, last]) =>
    others.map(([from, to]): Range => [Math.max(first, from), Math.min(last, to)]).filter(([from, to]) => from <= to),
  );
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
  const finite = rulesWith(grammar, hasText);
  const used = new Map<string, Expression>();
  const open = [ROOT];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (used.has(name)) continue;
    const expression = finite.has(name) ? pruned(grammar.get(name)!, finite) : NOTHING;
    used.set(name, expression);
    for (const inside of rulesIn(expression)) open.push(inside);
  }
  return used;
}

/** The rules with a property that follows from that of the rules inside of them. */
export function rulesWith(
  grammar: Grammar,
  hasProperty: (expression: Expression, rules: ReadonlySet<string>) => boolean,
): ReadonlySet<string> {
  const users = new Map<string, Set<string>>();
  for (const [name, expression] of grammar)
    for (const inside of rulesIn(expression)) users.set(inside, (users.get(inside) ?? new Set()).add(name));
  const found = new Set<string>();
  const open = [...grammar.keys()].reverse();
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name) || !hasProperty(grammar.get(name)!, found)) continue;
    found.add(name);
    for (const user of users.get(name) ?? []) open.push(user);
  }
  return found;
}

/** Whether a text matches, if the rules of these names have one. */
function hasText(expression: Expression, finite: ReadonlySet<string>): boolean {
  switch (expression.kind) {
    case "rule":
      return finite.has(expression.name);
    case "sequence":
      return expression.parts.every((part) => hasText(part, finite));
    case "choice":
      return expression.options.some((option) => hasText(option, finite));
    case "repeat":
      return expression.least === 0 || hasText(expression.part, finite);
    default:
      return true;
  }
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

/** The names of the rules in an expression. */
export function rulesIn(expression: Expression): string[] {
  switch (expression.kind) {
    case "rule":
      return [expression.name];
    case "sequence":
      return expression.parts.flatMap(rulesIn);
    case "choice":
      return expression.options.flatMap(rulesIn);
    case "repeat":
      return rulesIn(expression.part);
    default:
      return [];
  }
}
