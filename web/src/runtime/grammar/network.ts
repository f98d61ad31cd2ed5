// A grammar as a network of nodes over UTF-8 bytes, which automaton.ts runs.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import {
  type Expression,
  type Grammar,
  type MachineState,
  type Range,
  ROOT,
  rulesWith,
  sequenceOf,
} from "./expression.js";
import { type ByteRanges, utf8Sequences } from "./utf8.js";
import { spend } from "./work.js";

/** A node. The numbers are other nodes. */
export type Node =
  /** Reads a byte of a range. */
  | { readonly kind: "byte"; readonly first: number; readonly last: number; readonly next: number }
  /** Goes on at each of several nodes. */
  | { readonly kind: "split"; readonly next: readonly number[] }
  /** Reads a rule, then goes on. */
  | { readonly kind: "call"; readonly rule: number; readonly next: number }
  /** The end of a rule. */
  | { readonly kind: "end" };

/** The nodes of a grammar. */
export interface Network {
  readonly nodes: readonly Node[];
  /** The first node of the root rule. */
  readonly start: number;
}

/** A limit against grammars that would fill the memory. */
const MAX_NODES = 1_000_000;

/** The node {@link END} of every rule. */
export const END = 0;

const utf8 = new TextEncoder();

/**
 * @param grammar - all of whose rules match something
 * @throws INVALID_ARGUMENT: it is too large, or a rule starts with itself
 */
export function networkOf(grammar: Grammar, field: string): Network {
  checkLeftRecursion(grammar, field);
  return new Builder(grammar, field).build();
}

class Builder {
  readonly #nodes: Node[] = [{ kind: "end" }];
  readonly #starts = new Map<string, number>();
  /** Parts that are repeated more than once, as rules. */
  readonly #shared = new Map<Expression, number>();

  constructor(
    private readonly grammar: Grammar,
    private readonly field: string,
  ) {}

  build(): Network {
    // The first nodes of rules are reserved, because rules use each other.
    for (const name of this.grammar.keys()) this.#starts.set(name, this.#add({ kind: "split", next: [] }));
    for (const [name, expression] of this.grammar)
      this.#nodes[this.#starts.get(name)!] = { kind: "split", next: [this.#before(expression, END)] };
    return { nodes: this.#nodes, start: this.#starts.get(ROOT)! };
  }

  #add(node: Node): number {
    spend(5);
    if (this.#nodes.length >= MAX_NODES)
      fail(
        "INVALID_ARGUMENT",
        this.field,
        "is too large",
        advise.other("use smaller limits of lengths, or fewer values"),
      );
    return this.#nodes.push(node) - 1;
  }

  /** The node that reads an expression and goes on at `next`. */
  #before(expression: Expression, next: number): number {
    switch (expression.kind) {
      case "text":
        return utf8.encode(expression.text).reduceRight((after, byte) => this.#byte(byte, byte, after), next);
      case "set":
        if (!isSmall(expression)) return this.#sharedBefore(expression, next);
        return this.#bytes(expression.ranges.flatMap(utf8Sequences), next);
      case "sequence":
        return expression.parts.reduceRight((after, part) => this.#before(part, after), next);
      case "choice":
        return this.#choice(expression.options, next);
      case "rule":
        return this.#add({ kind: "call", rule: this.#starts.get(expression.name)!, next });
      case "repeat":
        return this.#repeat(expression, next);
      case "machine":
        return this.#machine(expression.states, next);
    }
  }

  /** Texts that begin alike share the nodes of their start, so that a text is at few places among many words. */
  #choice(options: readonly Expression[], next: number): number {
    const ways: number[] = [];
    const texts: { text: string; after: number }[] = [];
    for (const option of options) {
      const [first, ...rest] = option.kind === "sequence" ? option.parts : [option];
      if (options.length > 1 && first?.kind === "text")
        texts.push({ text: first.text, after: rest.length === 0 ? next : this.#before(sequenceOf(rest), next) });
      else ways.push(this.#before(option, next));
    }
    texts.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.after - b.after));
    // The way to the last text: its bytes, and where a text can go on after each of them.
    const path: { readonly byte: number; readonly ways: number[] }[] = [];
    const close = (length: number): void => {
      while (path.length > length) {
        const { byte, ways: after } = path.pop()!;
        (path[path.length - 1]?.ways ?? ways).push(this.#byte(byte, byte, this.#split(after)));
      }
    };
    let last: (typeof texts)[number] | undefined;
    for (const one of texts) {
      if (one.text === last?.text && one.after === last.after) continue;
      last = one;
      const bytes = utf8.encode(one.text);
      let shared = 0;
      while (shared < bytes.length && path[shared]?.byte === bytes[shared]) shared += 1;
      close(shared);
      for (const byte of bytes.subarray(shared)) path.push({ byte, ways: [] });
      (path[path.length - 1]?.ways ?? ways).push(one.after);
    }
    close(0);
    return this.#split(ways);
  }

  #machine(states: readonly MachineState[], next: number): number {
    const starts = states.map(() => this.#add({ kind: "split", next: [] }));
    const known = states.map(() => new Map<Expression, number>()); // by where they lead
    const before = (on: Expression, to: number): number => {
      const node = known[to]!.get(on) ?? this.#sharedBefore(on, starts[to]!);
      known[to]!.set(on, node);
      return node;
    };
    for (const [i, { edges, canEnd }] of states.entries()) {
      const ways = edges.map(([on, to]) => before(on, to));
      this.#nodes[starts[i]!] = { kind: "split", next: canEnd ? [...ways, next] : ways };
    }
    return starts[0]!;
  }

  #repeat({ part, least, most }: Extract<Expression, { kind: "repeat" }>, next: number): number {
    const before = (after: number): number =>
      least === 0 && most === 1 ? this.#before(part, after) : this.#sharedBefore(part, after);
    let node = next;
    if (most === Infinity) {
      node = this.#add({ kind: "split", next: [] });
      this.#nodes[node] = { kind: "split", next: [before(node), next] };
    } else for (let i = least; i < most; i++) node = this.#split([before(node), next]);
    for (let i = 0; i < least; i++) node = before(node);
    return node;
  }

  /** A part that other places have too, which is copied only if it is small. */
  #sharedBefore(part: Expression, next: number): number {
    if (isSmall(part)) return this.#before(part, next);
    const rule =
      this.#shared.get(part) ??
      (part.kind === "set" ? this.#bytes(part.ranges.flatMap(utf8Sequences), END) : this.#before(part, END));
    this.#shared.set(part, rule);
    return this.#add({ kind: "call", rule, next });
  }

  /** One of several sequences of bytes. Those with the same first byte share its node. */
  #bytes(sequences: readonly ByteRanges[], next: number): number {
    const starts = new Map<string, { first: Range; rests: ByteRanges[] }>();
    for (const [first, ...rest] of sequences) {
      const start = starts.get(first!.join()) ?? { first: first!, rests: [] };
      starts.set(first!.join(), start);
      if (rest.length > 0) start.rests.push(rest);
    }
    const nodes = Array.from(starts.values(), ({ first: [low, high], rests }) =>
      this.#byte(low, high, rests.length === 0 ? next : this.#bytes(rests, next)),
    );
    return this.#split(nodes);
  }

  #byte(first: number, last: number, next: number): number {
    return this.#add({ kind: "byte", first, last, next });
  }

  #split(next: readonly number[]): number {
    return next.length === 1 ? next[0]! : this.#add({ kind: "split", next });
  }
}

/** Whether copies of a part take little memory. */
function isSmall(part: Expression): boolean {
  if (part.kind === "set") return part.ranges.length <= 8;
  return part.kind === "text" ? part.text.length <= 8 : part.kind === "rule";
}

/** Throws for a rule that starts with itself: reading it would never begin. */
function checkLeftRecursion(grammar: Grammar, field: string): void {
  const empty = rulesWith(grammar, isEmpty);
  const done = new Set<string>();
  const inside = new Set<string>();
  for (const root of grammar.keys()) {
    const open = [root];
    for (let name = open[open.length - 1]; name !== undefined; name = open[open.length - 1]) {
      if (done.has(name) || inside.has(name)) {
        open.pop(); // all that it starts with was looked at
        done.add(name);
        inside.delete(name);
        continue;
      }
      inside.add(name);
      eachFirst(grammar.get(name)!, empty, (first) => {
        if (inside.has(first))
          fail(
            "INVALID_ARGUMENT",
            field,
            `the rule ${first} starts with itself`,
            advise.other("write the repeat with * or + instead"),
          );
        if (!done.has(first)) open.push(first);
      });
    }
  }
}

/** Whether an expression without parts is the empty text. */
function isEmpty(expression: Expression): boolean {
  return expression.kind === "text" ? expression.text === "" : expression.kind === "machine" && expression.states[0]!.canEnd; // prettier-ignore
}

/** Calls a function with the rules with which an expression can start. Returns whether it can be empty. */
function eachFirst(expression: Expression, empty: ReadonlySet<string>, visit: (name: string) => void): boolean {
  switch (expression.kind) {
    case "rule":
      visit(expression.name);
      return empty.has(expression.name);
    case "sequence":
      return expression.parts.every((part) => eachFirst(part, empty, visit));
    case "choice":
      return expression.options.map((option) => eachFirst(option, empty, visit)).includes(true);
    case "repeat":
      return eachFirst(expression.part, empty, visit) || expression.least === 0;
    default:
      return isEmpty(expression);
  }
}
