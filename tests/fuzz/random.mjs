// Random numbers that a seed determines, for cases that can be repeated.

/** A generator for one case. Equal arguments give equal numbers. */
export function randomOf(seed, iteration = 0) {
  let state = Math.imul(seed, 0x9e3779b1) ^ Math.imul(iteration + 1, 0x85ebca6b);

  /** 32 random bits (mulberry32). */
  function bits() {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  const random = {
    /** A number in [0, 1). */
    unit: () => bits() / 2 ** 32,
    /** A whole number in [0, n). */
    int: (n) => Math.floor(random.unit() * n),
    /** A whole number in [first, last]. */
    between: (first, last) => first + random.int(last - first + 1),
    /** True with probability p. */
    chance: (p) => random.unit() < p,
    pick: (list) => list[random.int(list.length)],
    bytes: (n) => Uint8Array.from({ length: n }, () => random.int(256)),
    /** n f32 values in [-2, 2). */
    floats: (n) => Float32Array.from({ length: n }, () => 4 * random.unit() - 2),
  };
  return random;
}
