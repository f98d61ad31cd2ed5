// Seeded random numbers, the same on every platform.

/** @internal */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to below `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** About normally distributed, mean 0, deviation 1. A sum of twelve, because engines differ in the last bits of ln and cos. */
  normal(): number {
    let sum = -6;
    for (let i = 0; i < 12; i++) sum += this.next();
    return sum;
  }

  /** The items in random order. */
  shuffled<Item>(items: readonly Item[]): Item[] {
    const list = items.slice();
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j]!, list[i]!];
    }
    return list;
  }
}
