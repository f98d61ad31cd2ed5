// Reads a file on a server by range requests, with retries.
import type { Advised } from "../../../core/base/advice.js";
import * as advise from "../../../core/base/advice.js";
import { RopewalkError } from "../../../core/base/errors.js";
import { type ByteSource, chunksOf, MissingFile } from "../byte_source.js";
import { networkError } from "../errors.js";
import { IdleTimeout } from "./idle_timeout.js";
import { request } from "./request.js";
import { isHtml, parseResponse, type RangeResponse, RetryableError, type Explained } from "./response.js";

/** How to make requests. @internal */
export interface HttpOptions {
  readonly fetch: typeof fetch;
  readonly headers: Readonly<Record<string, string>>;
  /** Consecutive failures of a request that are retried. */
  readonly retries: number;
  /** Milliseconds without a byte after which a request fails. */
  readonly timeout: number;
  /** Explains a response with an error status, where the kind of server is known. */
  readonly explain?: (response: Response) => Explained | undefined;
}

/** Defaults for what the caller doesn't set. @internal */
export const HTTP_DEFAULTS = { retries: 3, timeout: 20_000 } as const;

// milliseconds
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
/** A longer Retry-After ends the download. */
const LONGEST_RETRY_AFTER = 60_000;

const FIRST_READ = 1 << 20;

/** Bytes after a failure that reset the count of failures. */
const BYTES_TO_RESET_FAILURES = 1 << 20;

/** Opens a file on a server: reads its first bytes and keeps them. A megabyte contains most headers. @internal */
export async function openHttp(
  url: URL,
  name: string,
  options: HttpOptions,
  signal?: AbortSignal,
  firstBytes = FIRST_READ,
): Promise<ByteSource | MissingFile> {
  const source = new HttpSource(url, name, options);
  try {
    await source.readBeginning(firstBytes, signal);
    return source;
  } catch (error) {
    if (error instanceof NotFoundError) return new MissingFile("NETWORK", error.message, error.advised);
    throw error;
  }
}

/** The server has no such file. */
const LATER = advise.other("try again later");

class NotFoundError extends Error {
  constructor(
    message: string,
    /** What to do. */
    readonly advised?: Advised,
  ) {
    super(message);
  }
}

class HttpSource implements ByteSource {
  size = Infinity;
  seekCost = 1 << 20;
  version: string | undefined;
  isExact = false;
  private beginning = new Uint8Array(0);
  private isOpen = false;

  constructor(
    private readonly url: URL,
    readonly name: string,
    private readonly options: HttpOptions,
  ) {}

  /** For messages. A data: URL is as long as its file. */
  private get shownUrl(): string {
    return this.url.protocol === "data:" ? "data: URL" : this.url.href;
  }

  async readBeginning(count: number, signal: AbortSignal | undefined): Promise<void> {
    const bytes = new Uint8Array(count);
    let filled = 0;
    for await (const chunk of this.download(0, count, signal)) {
      bytes.set(chunk, filled);
      filled += chunk.length;
    }
    this.beginning = bytes.slice(0, filled);
    if (this.size === Infinity && filled < count) this.size = filled;
  }

  async *stream(start: number, end: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    signal?.throwIfAborted();
    const { beginning } = this;
    if (start < beginning.length) yield beginning.subarray(start, end);
    if (end > beginning.length)
      yield* this.download(Math.max(start, beginning.length), Math.min(end, this.size), signal);
  }

  /** Requests a range. After a failure, requests the rest of it. */
  private async *download(start: number, end: number, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    let position = start;
    let failures = 0;
    let positionAtFailure = start;
    while (position < Math.min(end, this.size)) {
      let failure: string;
      let advised: Advised | undefined;
      let wait = 0;
      const timeout = new IdleTimeout(this.options.timeout, signal);
      try {
        const response = await this.requestRange(position, end, timeout);
        for await (const chunk of chunksInRange(response, position, Math.min(end, response.end), timeout)) {
          yield chunk;
          position += chunk.length;
        }
        const isComplete = position >= Math.min(response.end, end);
        // without a known size, the end of the body is the end of the file
        if (this.size === Infinity && (isComplete || response.end === Infinity)) return;
        if (isComplete) continue;
        failure = `the connection closed at byte ${position}`;
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof RopewalkError || error instanceof NotFoundError) throw error;
        if (error instanceof RetryableError) ({ retryAfter: wait, advised } = error);
        failure = error instanceof RetryableError ? error.message : `cannot reach the server: ${reasonOf(error)}`;
      } finally {
        timeout.dispose();
      }
      if (position - positionAtFailure >= BYTES_TO_RESET_FAILURES) failures = 0;
      positionAtFailure = position;
      if (failures === this.options.retries)
        networkError(
          this.name,
          `${this.shownUrl}: ${failure}, and gave up after ${failures + 1} attempt${failures === 0 ? "" : "s"}`,
          advise.either(...(advised ? [advised] : []), LATER),
        );
      if (wait > LONGEST_RETRY_AFTER)
        networkError(
          this.name,
          `${this.shownUrl}: ${failure}, more than the limit of ${LONGEST_RETRY_AFTER / 1000} s`,
          LATER,
        );
      await pause(Math.max(wait, Math.min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE)), signal);
      failures += 1;
    }
  }

  /** Makes one request and checks that the response matches the earlier ones. */
  private async requestRange(
    start: number,
    end: number,
    timeout: IdleTimeout,
  ): Promise<RangeResponse & { body: ReadableStream<Uint8Array> }> {
    // No If-Range: cross-origin it would trigger a CORS preflight, which model hosts reject. throwIfChanged does its job.
    const { fetch, headers } = this.options;
    const range = `bytes=${start}-${end - 1}`;
    const response = await timeout.wait(request(fetch, this.url, this.name, headers, range, timeout.signal));
    try {
      if (!this.isOpen) this.throwIfMissing(response);
      const parsed = parseResponse(this.name, this.shownUrl, response, start, this.options.explain);
      this.throwIfChanged(parsed);
      if (response.body === null) throw new RetryableError("the server sent an empty response");
      return { ...parsed, body: response.body };
    } catch (error) {
      await response.body?.cancel().catch(() => undefined);
      throw error;
    }
  }

  private throwIfMissing(response: Response): void {
    const { status } = response;
    if (status === 404 || status === 410) {
      const hint = this.name.includes(".") ? "" : ", and end it with a slash if it is a folder";
      const meaning = this.options.explain?.(response);
      const { problem, advised } = meaning ?? {
        problem: `status ${status}, the file doesn't exist`,
        advised: advise.other(`check the URL${hint}`),
      };
      throw new NotFoundError(`${this.shownUrl}: ${problem}`, advised);
    }
    if (response.ok && isHtml(response))
      throw new NotFoundError(
        `${this.shownUrl}: the server responded with an HTML page`,
        advise.other("check that the file is served at this URL"),
      );
    if (status === 416) throw new NotFoundError(`${this.shownUrl}: the file is empty`);
  }

  private throwIfChanged({ size, version, isExact, isPartial }: RangeResponse): void {
    if (!this.isOpen) {
      this.isOpen = true;
      this.size = size;
      this.version = version;
      this.isExact = isExact;
    } else if (size !== this.size && size !== Infinity && this.size !== Infinity) {
      networkError(
        this.name,
        `the file changed on the server: it now has ${size} bytes and had ${this.size}`,
        advise.other("open it again"),
      );
    } else if (version !== this.version && version !== undefined && this.version !== undefined) {
      networkError(this.name, "the file changed on the server while it was being read", advise.other("open it again"));
    }
    if (!isPartial) this.seekCost = Infinity; // the server ignores ranges: every stream starts at the first byte of the file
  }
}

/** Yields the bytes in [from, to) of a response. A server that ignores ranges sends more. */
async function* chunksInRange(
  { start, body }: RangeResponse & { body: ReadableStream<Uint8Array> },
  from: number,
  to: number,
  timeout: IdleTimeout,
): AsyncGenerator<Uint8Array> {
  let position = start;
  for await (const chunk of timeout.chunks(chunksOf(body, timeout.signal))) {
    const part = chunk.subarray(Math.max(from - position, 0), Math.max(to - position, 0));
    position += chunk.length;
    if (part.length > 0) yield part;
    if (position >= to) return;
  }
}

/** An error's message, with that of its cause: in Node, fetch puts the actual reason there. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== "" ? `${message} (${cause.message})` : message;
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
  });
}
