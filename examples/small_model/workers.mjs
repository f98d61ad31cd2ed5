// Distributes jobs over Workers and shows progress in a terminal.
import { availableParallelism } from "node:os";
import { load } from "ropewalk/worker";

/**
 * Runs `work` for each item on the next idle Worker.
 * @param work - `(rw, item) => promise`, where `rw` is the runtime in a Worker, of the simd build, which computes the same bits everywhere.
 * @param most - number of Workers, each with one thread of its own.
 * @param onDone - called with each item that is done, and how many are. Shows the number by default.
 * @returns the results, in the order of the items.
 */
export async function inWorkers(items, work, most = 4, onDone = (_, done) => showProgress(done, items.length)) {
  const workers = await Promise.all(
    Array.from({ length: Math.min(most, items.length, availableParallelism()) }, () =>
      load({ build: "simd", threads: 1 }),
    ),
  );
  const results = [];
  const queue = items.entries();
  let done = 0;
  try {
    await Promise.all(
      workers.map(async (rw) => {
        for (const [i, item] of queue) {
          results[i] = await work(rw, item);
          onDone(item, ++done);
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
