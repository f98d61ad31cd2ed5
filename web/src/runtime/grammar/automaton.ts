// Runs a network over bytes. A state is the set of nodes that a text can be at. States and their transitions are computed when they are first
// needed and kept, so that most bytes take one step in a table.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import { END, type Network } from "./network.js";

/** The dead state: no continuation. */
export const DEAD = 0;
/** A transition that isn't known yet. */
const UNKNOWN = -1;

/** More states than this are forgotten: the transitions of one take 1 KiB. */
const MAX_STATES = 30_000;
/** The most places that a text may be at. More take seconds for each token. */
const MAX_PLACES = 200_000;
/** The most places of all states, and the most that are looked at for one token. */
const MAX_HELD = 20_000_000;
const MAX_WORK = 300_000_000;
/** Bytes, and so transitions of a state. */
const BYTES = 256;

/** A rule that waits for the rule it called. */
interface Frame {
  readonly id: number;
  /** The node after the call. */
  readonly next: number;
  /** The frame of the caller. The lowest frame has none: it is the end of the text. */
  readonly below: Frame | undefined;
  /** The frames on this one, by the node after the call. */
  readonly above: Map<number, Frame>;
}

/** Where a text is: the nodes that read the next byte, each with its frame. It outlives the numbers of states. */
export interface Position {
  readonly nodes: Int32Array;
  readonly frames: readonly Frame[];
  /** Whether the text may end here. */
  readonly canEnd: boolean;
}

/** The states of a grammar. Their numbers are valid until {@link Automaton.generation} changes. */
export class Automaton {
  readonly #network: Network;
  readonly #maxStates: number;
  readonly #states: Position[] = [];
  #ways = new Int32Array(64 * BYTES);
  readonly #stateIds = new Map<string, number>();
  #bottom: Frame = { id: 0, next: END, below: undefined, above: new Map() };
  #frames = 1;
  #held = 0;
  #work = 0;
  #generation = 0;

  constructor(network: Network, maxStates = MAX_STATES) {
    this.#network = network;
    this.#maxStates = maxStates;
    this.#clear();
  }

  /** How often the states were forgotten. */
  get generation(): number {
    return this.#generation;
  }

  /** The state at the start of a text. */
  start(): number {
    const places = new Places();
    this.#close(this.#network.start, this.#bottom, places);
    return this.#intern(places.position());
  }

  /** Whether the text may end in a state. */
  canEnd(state: number): boolean {
    return this.#states[state]!.canEnd;
  }

  /** What a state stands for, which {@link find} knows in later generations too. */
  position(state: number): Position {
    return this.#states[state]!;
  }

  /** The state of a position that may be from an earlier generation. */
  find({ nodes, frames, canEnd }: Position): number {
    const places = new Places();
    places.canEnd = canEnd;
    const moved = new Map<Frame, Frame>();
    nodes.forEach((node, i) => places.add(node, this.#moved(frames[i]!, moved)));
    return this.#intern(places.position());
  }

  /**
   * The transitions of all states, 256 for each: the next state, or a negative number where {@link step} must find it.
   * step() may make a new array.
   */
  get ways(): Int32Array {
    return this.#ways;
  }

  /** The state after a byte. @throws INVALID_ARGUMENT: the text can be at too many places */
  step(state: number, byte: number): number {
    const known = this.#ways[state * BYTES + byte]!;
    if (known !== UNKNOWN) return known;
    const { nodes, frames } = this.#states[state]!;
    this.#work += nodes.length;
    if (this.#work > MAX_WORK || this.#held > 2 * MAX_HELD) failTooLarge();
    const after = new Places();
    let [low, high] = [0, BYTES - 1]; // bytes around this one that the same nodes read
    for (let i = 0; i < nodes.length; i++) {
      const node = this.#network.nodes[nodes[i]!]!;
      if (node.kind !== "byte") continue;
      if (byte < node.first) high = Math.min(high, node.first - 1);
      else if (byte > node.last) low = Math.max(low, node.last + 1);
      else {
        [low, high] = [Math.max(low, node.first), Math.min(high, node.last)];
        this.#close(node.next, frames[i]!, after);
      }
    }
    const next = this.#intern(after.position());
    this.#ways.fill(next, state * BYTES + low, state * BYTES + high + 1);
    return next;
  }

  /** Starts counting the work for a token, which is limited. */
  startWork(): void {
    this.#work = 0;
  }

  /** Forgets all states if there are too many. Positions stay valid, state numbers don't. */
  limitStates(): void {
    if (this.#states.length >= this.#maxStates || this.#held > MAX_HELD) this.#clear();
  }

  #clear(): void {
    this.#generation += 1;
    this.#states.length = 0;
    this.#stateIds.clear();
    this.#bottom = { id: 0, next: END, below: undefined, above: new Map() };
    this.#frames = 1;
    this.#held = 0;
    this.#add({ nodes: new Int32Array(), frames: [], canEnd: false });
    this.#ways.fill(DEAD, 0, BYTES);
  }

  /** Adds the nodes that read a byte and can be reached from a node without reading one. */
  #close(node: number, frame: Frame, places: Places): void {
    const open: [number, Frame][] = [[node, frame]];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const [at, on] = place;
      if (!places.visit(at, on)) continue;
      this.#work += 1;
      const it = this.#network.nodes[at]!;
      if (it.kind === "byte") places.add(at, on);
      else if (it.kind === "split") for (const next of it.next) open.push([next, on]);
      // A rule that nothing follows takes the frame of its caller, so that rules that end with themselves need no more frames.
      else if (it.kind === "call") open.push([it.rule, it.next === END ? on : this.#frame(it.next, on)]);
      else if (on.below === undefined) places.canEnd = true;
      else open.push([on.next, on.below]);
    }
  }

  #frame(next: number, below: Frame): Frame {
    const known = below.above.get(next);
    if (known !== undefined) return known;
    const frame: Frame = { id: this.#frames++, next, below, above: new Map() };
    below.above.set(next, frame);
    return frame;
  }

  /** The frame of this generation for one that may be of an earlier one. */
  #moved(frame: Frame, moved: Map<Frame, Frame>): Frame {
    const missing: Frame[] = [];
    let at: Frame = frame;
    for (; at.below !== undefined && !moved.has(at); at = at.below) missing.push(at);
    let found = moved.get(at) ?? this.#bottom;
    for (const one of missing.reverse()) {
      found = this.#frame(one.next, found);
      moved.set(one, found);
    }
    return found;
  }

  #intern(position: Position): number {
    const { nodes, frames, canEnd } = position;
    if (nodes.length === 0 && !canEnd) return DEAD;
    const key = `${canEnd ? "+" : ""}${nodes.join()};${frames.map(({ id }) => id).join()}`;
    const known = this.#stateIds.get(key);
    if (known !== undefined) return known;
    const id = this.#add(position);
    this.#stateIds.set(key, id);
    return id;
  }

  #add(position: Position): number {
    const id = this.#states.push(position) - 1;
    this.#held += position.nodes.length;
    if (this.#ways.length < (id + 1) * BYTES) {
      const larger = new Int32Array(2 * this.#ways.length);
      larger.set(this.#ways);
      this.#ways = larger;
    }
    this.#ways.fill(UNKNOWN, id * BYTES, (id + 1) * BYTES);
    return id;
  }
}

/** The places of a state that is being made. */
class Places {
  canEnd = false;
  readonly #visited = new Map<Frame, Set<number>>();
  readonly #found: [number, Frame][] = [];
  #count = 0;

  /** Whether a node with a frame is visited for the first time. */
  visit(node: number, frame: Frame): boolean {
    const nodes = this.#visited.get(frame) ?? new Set<number>();
    this.#visited.set(frame, nodes);
    if (nodes.has(node)) return false;
    nodes.add(node);
    if (++this.#count > MAX_PLACES) failTooLarge();
    return true;
  }

  add(node: number, frame: Frame): void {
    this.#found.push([node, frame]);
  }

  position(): Position {
    const sorted = this.#found.sort(([a, one], [b, other]) => a - b || one.id - other.id);
    return {
      nodes: Int32Array.from(sorted, ([node]) => node),
      frames: sorted.map(([, frame]) => frame),
      canEnd: this.canEnd,
    };
  }
}

function failTooLarge(): never {
  fail(
    "INVALID_ARGUMENT",
    "format",
    "is too large: a text can match in too many ways",
    advise.other("use smaller limits of repeats, or fewer parts that may be missing"),
  );
}
