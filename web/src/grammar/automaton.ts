// Runs a network over bytes. The places at which a text can be are a state. States and the ways between them are made when they are first
// needed and kept, so that most bytes take one step in a table.
import { END, type Network } from "./network.js";

/** A state with no text that goes on. */
export const DEAD = 0;
/** A way that isn't known yet. */
const UNKNOWN = -1;

/** More states than this are forgotten: the ways from one take 1 KiB. */
const MOST_STATES = 30_000;
/** Bytes, and so ways from a state. */
const BYTES = 256;

/** Frames of rules that wait for the rule they called. Frame 0 is the end of the text. */
const NO_FRAME = 0;

interface State {
  /** The nodes that read the next byte, each followed by its frame. */
  readonly places: Int32Array;
  /** Whether the text may end here. */
  readonly canEnd: boolean;
}

/** The states of a grammar. State numbers stay valid until {@link Automaton.renew}. */
export class Automaton {
  readonly #network: Network;
  readonly #states: State[] = [];
  #ways = new Int32Array(64 * BYTES);
  readonly #stateIds = new Map<string, number>();
  /** The node after the call, and the frame below, of each frame. */
  readonly #returns: number[] = [END];
  readonly #below: number[] = [NO_FRAME];
  readonly #frameIds = new Map<number, Map<number, number>>();

  constructor(network: Network) {
    this.#network = network;
    this.#clear();
  }

  /** The state at the start of a text. */
  start(): number {
    const places = new Places();
    this.#close(this.#network.start, NO_FRAME, places);
    return this.#intern(places);
  }

  /** Whether the text may end in a state. */
  canEnd(state: number): boolean {
    return this.#states[state]!.canEnd;
  }

  /**
   * The ways from all states, 256 for each: the next state, or a negative number where {@link step} must find it.
   * step() may make a new array.
   */
  get ways(): Int32Array {
    return this.#ways;
  }

  /** The state after a byte. */
  step(state: number, byte: number): number {
    const known = this.#ways[state * BYTES + byte]!;
    if (known !== UNKNOWN) return known;
    const { places } = this.#states[state]!;
    const after = new Places();
    let [low, high] = [0, BYTES - 1]; // bytes around this one that the same nodes read
    for (let i = 0; i < places.length; i += 2) {
      const node = this.#network.nodes[places[i]!]!;
      if (node.kind !== "byte") continue;
      if (byte < node.first) high = Math.min(high, node.first - 1);
      else if (byte > node.last) low = Math.max(low, node.last + 1);
      else {
        [low, high] = [Math.max(low, node.first), Math.min(high, node.last)];
        this.#close(node.next, places[i + 1]!, after);
      }
    }
    const next = this.#intern(after);
    this.#ways.fill(next, state * BYTES + low, state * BYTES + high + 1);
    return next;
  }

  /** Forgets all states if there are too many. Returns the number that `state` has then. */
  renew(state: number): number {
    if (this.#states.length < MOST_STATES) return state;
    const { places, canEnd } = this.#states[state]!;
    this.#clear();
    return this.#add(places, canEnd);
  }

  #clear(): void {
    this.#states.length = 0;
    this.#stateIds.clear();
    this.#add(new Int32Array(), false);
    this.#ways.fill(DEAD, 0, BYTES);
  }

  /** Adds the nodes that read a byte and can be reached from a node without reading one. */
  #close(node: number, frame: number, places: Places): void {
    const open = [node, frame];
    while (open.length > 0) {
      const below = open.pop()!;
      const at = open.pop()!;
      if (!places.visit(at, below)) continue;
      const it = this.#network.nodes[at]!;
      if (it.kind === "byte") places.add(at, below);
      else if (it.kind === "split") for (const next of it.next) open.push(next, below);
      // A rule that nothing follows takes the frame of its caller, so that rules that end with themselves need no more frames.
      else if (it.kind === "call") open.push(it.rule, it.next === END ? below : this.#frame(it.next, below));
      else if (below === NO_FRAME) places.canEnd = true;
      else open.push(this.#returns[below]!, this.#below[below]!);
    }
  }

  #frame(next: number, below: number): number {
    const ids = this.#frameIds.get(below) ?? new Map<number, number>();
    this.#frameIds.set(below, ids);
    const known = ids.get(next);
    if (known !== undefined) return known;
    const id = this.#returns.push(next) - 1;
    this.#below.push(below);
    ids.set(next, id);
    return id;
  }

  #intern(places: Places): number {
    const sorted = places.sorted();
    const key = `${places.canEnd ? "+" : ""}${sorted.join()}`;
    const known = sorted.length === 0 && !places.canEnd ? DEAD : this.#stateIds.get(key);
    if (known !== undefined) return known;
    const id = this.#add(sorted, places.canEnd);
    this.#stateIds.set(key, id);
    return id;
  }

  #add(places: Int32Array, canEnd: boolean): number {
    const id = this.#states.push({ places, canEnd }) - 1;
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
  readonly #visited = new Map<number, Set<number>>();
  readonly #found: [number, number][] = [];

  /** Whether a node with a frame is visited for the first time. */
  visit(node: number, frame: number): boolean {
    const frames = this.#visited.get(node) ?? new Set<number>();
    this.#visited.set(node, frames);
    if (frames.has(frame)) return false;
    frames.add(frame);
    return true;
  }

  add(node: number, frame: number): void {
    this.#found.push([node, frame]);
  }

  sorted(): Int32Array {
    return Int32Array.from(this.#found.sort(([a, b], [c, d]) => a - c || b - d).flat());
  }
}
