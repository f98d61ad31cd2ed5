// Patterns as nodes over sets of characters, and the sets of nodes that a text can be at.
import type { Expression, Range } from "../expression.js";
import { spend } from "../work.js";
import { Found } from "./found.js";
import { MAX_EDGES, MAX_STATES, TooLarge } from "./limits.js";

/** Reads a character of a set, goes on at other nodes without one, or ends the text. */
type Node =
  | { readonly kind: "set"; readonly set: number; readonly next: number }
  | { readonly kind: "split"; readonly next: readonly number[] };

/** The node at which a text ends. */
const END = 0;

/** Numbers the sets of several patterns. */
export class Sets {
  readonly all: (readonly Range[])[] = [];
  readonly #ids = new Map<string, number>();

  idOf(ranges: readonly Range[]): number {
    spend(ranges.length);
    const key = ranges.join(";");
    const id = this.#ids.get(key) ?? this.all.push(ranges) - 1;
    this.#ids.set(key, id);
    return id;
  }
}

/** An expression without rules. */
export class Nodes {
  readonly #nodes: Node[] = [{ kind: "split", next: [] }];
  readonly #start: number;

  /** @throws TooLarge */
  constructor(
    expression: Expression,
    private readonly sets: Sets,
  ) {
    this.#start = this.#before(expression, END);
  }

  /** The nodes at the start of a text. */
  start(): readonly number[] {
    return this.#closed([this.#start]);
  }

  canEnd(nodes: readonly number[]): boolean {
    return nodes.includes(END);
  }

  /** The nodes after a character of each class. */
  after(nodes: readonly number[], ofSets: readonly (readonly number[])[], classes: number): (readonly number[])[] {
    spend(classes + nodes.length);
    const next: (Set<number> | undefined)[] = Array.from({ length: classes });
    for (const at of nodes) {
      const node = this.#nodes[at]!;
      if (node.kind === "set") for (const one of ofSets[node.set]!) (next[one] ??= new Set()).add(node.next);
    }
    const known = new Map<string, readonly number[]>();
    return next.map((some) => {
      if (some === undefined) return [];
      const key = [...some].join();
      const closed = known.get(key) ?? this.#closed([...some]);
      known.set(key, closed);
      return closed;
    });
  }

  #closed(nodes: readonly number[]): readonly number[] {
    const open = [...nodes];
    const seen = new Set<number>();
    const found: number[] = [];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      spend(2);
      const node = this.#nodes[at]!;
      if (node.kind === "set" || at === END) found.push(at);
      else for (const next of node.next) open.push(next);
    }
    return found.sort((a, b) => a - b);
  }

  #add(node: Node): number {
    if (this.#nodes.length >= MAX_STATES) throw new TooLarge();
    spend(5);
    return this.#nodes.push(node) - 1;
  }

  #before(expression: Expression, next: number): number {
    switch (expression.kind) {
      case "text":
        if (expression.text.length > 2 * MAX_STATES) throw new TooLarge();
        return Array.from(expression.text).reduceRight((after, character) => {
          const point = character.codePointAt(0)!;
          return this.#add({ kind: "set", set: this.sets.idOf([[point, point]]), next: after });
        }, next);
      case "set":
        return this.#add({ kind: "set", set: this.sets.idOf(expression.ranges), next });
      case "sequence":
        return expression.parts.reduceRight((after, part) => this.#before(part, after), next);
      case "choice":
        return this.#add({ kind: "split", next: expression.options.map((option) => this.#before(option, next)) });
      case "repeat":
        return this.#repeat(expression, next);
      case "machine": {
        const starts = expression.states.map(() => this.#add({ kind: "split", next: [] }));
        for (const [i, { edges, canEnd }] of expression.states.entries()) {
          const ways = edges.map(([on, to]) => this.#before(on, starts[to]!));
          this.#nodes[starts[i]!] = { kind: "split", next: canEnd ? [...ways, next] : ways };
        }
        return starts[0]!;
      }
      case "rule":
        throw new TooLarge();
    }
  }

  #repeat({ part, least, most }: Extract<Expression, { kind: "repeat" }>, next: number): number {
    let node = next;
    if (most === Infinity) {
      node = this.#add({ kind: "split", next: [] });
      this.#nodes[node] = { kind: "split", next: [this.#before(part, node), next] };
    } else
      for (let i = least; i < most; i++) node = this.#add({ kind: "split", next: [this.#before(part, node), next] });
    for (let i = 0; i < least; i++) {
      const before = this.#before(part, node);
      if (before === node) break; // a part of only the empty text
      node = before;
    }
    return node;
  }
}

/** The states of nodes, made when they are first needed. State 0 allows no more text. */
export class Subsets {
  readonly #found = new Found<readonly number[]>();
  readonly #next: (readonly number[] | undefined)[] = [];
  #work = 0;

  constructor(
    private readonly nodes: Nodes,
    private readonly ofSets: readonly (readonly number[])[],
    private readonly classes: number,
  ) {
    this.#idOf([]);
  }

  start(): number {
    return this.#idOf(this.nodes.start());
  }

  canEnd(state: number): boolean {
    return this.nodes.canEnd(this.#found.keys[state]!);
  }

  /** The state after a character of each class. @throws TooLarge */
  after(state: number): readonly number[] {
    const subset = this.#found.keys[state]!;
    this.#work += subset.length;
    if (this.#work > MAX_EDGES) throw new TooLarge();
    return (this.#next[state] ??= this.nodes
      .after(subset, this.ofSets, this.classes)
      .map((nodes) => this.#idOf(nodes)));
  }

  #idOf(nodes: readonly number[]): number {
    return this.#found.idOf(nodes, nodes.join());
  }
}
