// Workers that are started from the text of their script.

/** How long a Blob is kept: the Worker fetches it after it was created. */
const KEPT_MS = 60_000;

/** Starts a Worker from the text of its script. A content security policy must allow `worker-src blob:`. @internal */
export function textWorker(text: string, options: WorkerOptions): Worker {
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return new Worker(address, options);
  } finally {
    setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
  }
}
