// A trie of tokens in typed arrays, for vocabularies of hundreds of thousands.

const EMPTY = -1;

/** Tokens by their UTF-16 code units. Nodes are numbers, and 0 is the root. */
export class TokenTrie {
  /** Ids by node; -1 for a node at which no token ends. */
  #ids = new Int32Array(1024).fill(EMPTY);
  #nodes = 1;
  /** A table with open addressing: the node and the unit of each edge, as one number, and the node that it leads to. */
  #edges = new Float64Array(4096).fill(EMPTY);
  #targets = new Int32Array(4096);

  /** Adds a token. Of tokens with the same text, the last counts. */
  add(text: string, id: number): void {
    let node = 0;
    for (let i = 0; i < text.length; i++) node = this.#stepOrAdd(node, text.charCodeAt(i));
    this.#ids[node] = id;
  }

  /** The node that a code unit leads to; 0 if there is none. */
  step(node: number, unit: number): number {
    const slot = this.#slotOf(node * 0x10000 + unit);
    return this.#edges[slot] === EMPTY ? 0 : this.#targets[slot]!;
  }

  /** The token that ends at a node, or -1. */
  idAt(node: number): number {
    return this.#ids[node]!;
  }

  #stepOrAdd(node: number, unit: number): number {
    const edge = node * 0x10000 + unit;
    const slot = this.#slotOf(edge);
    if (this.#edges[slot] === edge) return this.#targets[slot]!;
    const added = this.#nodes++;
    this.#edges[slot] = edge;
    this.#targets[slot] = added;
    if (added >= this.#ids.length) {
      const ids = new Int32Array(2 * this.#ids.length).fill(EMPTY);
      ids.set(this.#ids);
      this.#ids = ids;
    }
    if (2 * this.#nodes > this.#edges.length) this.#grow();
    return added;
  }

  #grow(): void {
    const [edges, targets] = [this.#edges, this.#targets];
    this.#edges = new Float64Array(2 * edges.length).fill(EMPTY);
    this.#targets = new Int32Array(2 * edges.length);
    edges.forEach((edge, i) => {
      if (edge === EMPTY) return;
      const slot = this.#slotOf(edge);
      this.#edges[slot] = edge;
      this.#targets[slot] = targets[i]!;
    });
  }

  /** The slot of an edge, or the empty one where it would be. */
  #slotOf(edge: number): number {
    const mask = this.#edges.length - 1;
    const high = Math.floor(edge / 0x10000);
    let slot = (Math.imul(high, 0x9e3779b1) ^ Math.imul(edge % 0x10000, 0x85ebca6b)) >>> 0;
    slot = (slot ^ (slot >>> 15)) & mask;
    while (this.#edges[slot] !== EMPTY && this.#edges[slot] !== edge) slot = (slot + 1) & mask;
    return slot;
  }
}
