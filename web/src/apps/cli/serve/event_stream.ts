// Sends the chunks of a generation as events, and ends the generation of a client that is gone or doesn't read.
import type { ErrorBody } from "../../openai/errors.js";

/** How long a client may leave an event unread while other requests wait for its place, and otherwise. */
const UNREAD_WHILE_OTHERS_WAIT_MS = 1_000;
const UNREAD_MS = 30_000;

export type Chunks = AsyncGenerator<object, void, void>;

export function isChunks(result: unknown): result is Chunks {
  return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
}

/** What a stream needs to know and to tell. */
export interface Streaming {
  /** Aborted when the connection or the server closes. */
  readonly signal: AbortSignal;
  /** Aborts the generation. */
  readonly leaving: AbortController;
  /** Called once, when the stream has ended. */
  readonly end: () => void;
  readonly failure: (error: unknown) => { body: ErrorBody };
  /** Whether another request waits for a place. */
  readonly isWanted: () => boolean;
}

/** The response that sends `first` and the chunks after it. */
export function eventStream(first: IteratorResult<object, void>, chunks: Chunks, streaming: Streaming): Response {
  const { signal, leaving, end, failure, isWanted } = streaming;
  const encoder = new TextEncoder();
  const event = (data: string): Uint8Array => encoder.encode(`data: ${data}\n\n`);
  let next: IteratorResult<object, void> | undefined = first;
  let isPulled = false;
  let unreadSince = performance.now();
  let hasEnded = false;
  const endOnce = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    clearInterval(clock);
    signal.removeEventListener("abort", closed);
    end();
  };
  const leave = async (): Promise<void> => {
    leaving.abort();
    await chunks.return().catch(() => undefined);
    endOnce();
  };
  let close = (): void => undefined;
  // a client that reads gets the reason from the chunk that it waits for
  const closed = (): void => void (isPulled || leave().then(close));
  const clock = setInterval(() => {
    const limit = isWanted() ? UNREAD_WHILE_OTHERS_WAIT_MS : UNREAD_MS;
    if (!isPulled && performance.now() - unreadSince >= limit) void leave().then(close);
  }, UNREAD_WHILE_OTHERS_WAIT_MS);
  clock.unref();
  signal.addEventListener("abort", closed);
  if (signal.aborted) closed();
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      close = () => controller.error(new Error("the client didn't read"));
    },
    async pull(controller) {
      isPulled = true;
      try {
        const { done, value } = next ?? (await chunks.next());
        next = undefined;
        if (done !== true) {
          controller.enqueue(event(JSON.stringify(value)));
          return;
        }
        controller.enqueue(event("[DONE]"));
      } catch (error) {
        if (!leaving.signal.aborted) controller.enqueue(event(JSON.stringify(failure(error).body)));
      } finally {
        isPulled = false;
        unreadSince = performance.now();
      }
      endOnce();
      controller.close();
    },
    cancel: leave,
  });
  return new Response(stream, {
    headers: { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache" },
  });
}
