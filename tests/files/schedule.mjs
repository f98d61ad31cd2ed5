// Runs concurrent tasks in an order chosen by a seed, so that a failing order can be run again.

/** Numbers in [0, 1) from a seed (mulberry32). */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Runs `tasks` until all have ended. Each is a function that gets `turn`; whatever awaits `turn()` goes on when the seed picks it.
 * @returns the outcomes, as Promise.allSettled
 */
export async function runInOrder(random, turns, tasks) {
  let isDone = false;
  const outcomes = Promise.allSettled(tasks.map((task) => task())).finally(() => (isDone = true));
  while (!isDone) {
    await new Promise(setImmediate); // until every task waits for its turn
    const [next] = turns.splice(Math.floor(random() * turns.length), 1);
    next?.();
  }
  return outcomes;
}

/** A store in memory whose every step waits for its turn. `locks` as the Web Locks API has them. */
export function memoryStore(turn, { pieceBytes, blockBytes = pieceBytes, withLocks = true }) {
  const stored = new Map();
  const held = new Map();
  const locks = {
    async request(name, { ifAvailable }, action) {
      if (ifAvailable && held.has(name)) return action(null);
      const before = held.get(name) ?? Promise.resolve();
      const result = before.then(async () => (await turn(), action({})));
      held.set(
        name,
        result.catch(() => undefined),
      );
      return result;
    },
  };
  return {
    stored,
    id: "memory",
    pieceBytes,
    blockBytes,
    locks: withLocks ? locks : { request: (name, options, action) => action({}) },
    names: async () => (await turn(), [...stored.keys()]),
    read: async (name) => (await turn(), stored.get(name)),
    async write(name, bytes) {
      const blob = new Blob([bytes.slice()]);
      await turn();
      stored.set(name, blob);
    },
    remove: async (name) => (await turn(), void stored.delete(name)),
  };
}
