// Work shared out among workers of the package, with a count of what is done where somebody looks on.
import { availableParallelism } from "node:os";
import { load } from "ropewalk/worker";

/**
 * Gives each item to a worker that has nothing to do, in order.
 * @param work - `(rw, item)` to a promise; `rw` is the module in a worker, of the build that computes the same bits everywhere.
 * @returns what `work` gave, in the order of the items.
 */
export async function inWorkers(items, work) {
  const workers = await Promise.all(
    Array.from({ length: Math.min(4, items.length, availableParallelism()) }, () => load({ build: "simd" })),
  );
  const results = [];
  const queue = items.entries();
  let done = 0;
  try {
    await Promise.all(
      workers.map(async (rw) => {
        for (const [i, item] of queue) {
          results[i] = await work(rw, item);
          showProgress(++done, items.length);
        }
      }),
    );
  } finally {
    await Promise.all(workers.map((rw) => rw.dispose()));
  }
  return results;
}

function showProgress(done, total) {
  if (process.stderr.isTTY) process.stderr.write(done === total ? "\r\u001b[K" : `\r${done} of ${total} measured`);
}
