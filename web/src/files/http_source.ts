import { RopewalkError } from "../base/errors.js";
import { type ByteSource, chunksOf, NotThere } from "./byte_source.js";
import { networkFailure } from "./failures.js";
import { type Answer, answerOf, Interrupted, isPage } from "./http_response.js";
import { Patience } from "./patience.js";

/** How to ask a server. @internal */
export interface HttpOptions {
  readonly fetch: typeof fetch;
  readonly headers: Readonly<Record<string, string>>;
  /** How often a request may fail, one after the other, before reading does. */
  readonly retries: number;
  /** Milliseconds without a byte after which a request has failed. */
  readonly timeout: number;
}

/** What holds unless the caller says otherwise. @internal */
export const USUAL_PATIENCE = { retries: 3, timeout: 20_000 } as const;

const FIRST_READ = 1 << 20;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
/** A server that asks for more is not waited for. */
const LONGEST_WAIT = 60_000;

/** So much after a failure, and the next one is counted as the first. */
const PROGRESS = 1 << 20;

/** Opens a file on a server by reading its beginning, which it keeps: most headers lie in it. @internal */
export async function openHttp(
  url: URL,
  name: string,
  options: HttpOptions,
  signal?: AbortSignal,
): Promise<ByteSource | NotThere> {
  const source = new HttpSource(url, name, options);
  try {
    await source.begin(signal);
    return source;
  } catch (error) {
    if (error instanceof Absent) return new NotThere("NETWORK", error.message);
    throw error;
  }
}

/** The server has no such file. */
class Absent extends Error {}

class HttpSource implements ByteSource {
  size = Infinity;
  seekCost = 1 << 20;
  version: string | undefined;
  private head = new Uint8Array(0);
  private isOpen = false;

  constructor(
    private readonly url: URL,
    readonly name: string,
    private readonly options: HttpOptions,
  ) {}

  async begin(signal: AbortSignal | undefined): Promise<void> {
    const head = new Uint8Array(FIRST_READ);
    let filled = 0;
    for await (const chunk of this.download(0, FIRST_READ, signal)) {
      head.set(chunk, filled);
      filled += chunk.length;
    }
    this.head = head.slice(0, filled);
    if (this.size === Infinity && filled < FIRST_READ) this.size = filled;
  }

  async *stream(start: number, end: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    signal?.throwIfAborted();
    const { head } = this;
    if (start < head.length) yield head.subarray(start, end);
    if (end > head.length) yield* this.download(Math.max(start, head.length), Math.min(end, this.size), signal);
  }

  /** Asks for a range, and after a failure for the rest of it. */
  private async *download(start: number, end: number, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    let position = start;
    let failures = 0;
    let atFailure = start;
    while (position < Math.min(end, this.size)) {
      let why: string;
      let wait = 0;
      const patience = new Patience(this.options.timeout, signal);
      try {
        const answer = await this.ask(position, end, patience);
        for await (const chunk of wanted(answer, position, Math.min(end, answer.end), patience)) {
          yield chunk;
          position += chunk.length;
        }
        const isComplete = position >= Math.min(answer.end, end);
        if (this.size === Infinity && (isComplete || answer.end === Infinity)) return; // the end of the body is all that tells
        if (isComplete) continue;
        why = `the connection ended at byte ${position}`;
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof RopewalkError || error instanceof Absent) throw error;
        if (error instanceof Interrupted) ({ wait } = error);
        why = error instanceof Interrupted ? error.message : `the server cannot be reached: ${reasonOf(error)}`;
      } finally {
        patience.end();
      }
      if (position - atFailure >= PROGRESS) failures = 0;
      atFailure = position;
      if (failures === this.options.retries)
        networkFailure(this.name, `${why}, after ${failures + 1} attempts; try again`);
      if (wait > LONGEST_WAIT) networkFailure(this.name, `${why}, which is too long to wait for; try again then`);
      await pause(Math.max(wait, Math.min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE)), signal);
      failures += 1;
    }
  }

  /** One request, whose answer is held against those before it. */
  private async ask(
    start: number,
    end: number,
    patience: Patience,
  ): Promise<Answer & { body: ReadableStream<Uint8Array> }> {
    // No If-Range: across origins it would take leave in advance, which servers of models do not give. What it is for is checked below.
    const headers = { ...this.options.headers, Range: `bytes=${start}-${end - 1}` };
    const response = await patience.over(this.options.fetch(this.url, { headers, signal: patience.signal }));
    try {
      if (!this.isOpen) this.refuseAbsent(response);
      const answer = answerOf(this.name, response, start);
      this.checkSame(answer);
      if (response.body === null) throw new Interrupted("the server answered with nothing");
      return { ...answer, body: response.body };
    } catch (error) {
      await response.body?.cancel().catch(() => undefined);
      throw error;
    }
  }

  private refuseAbsent(response: Response): void {
    if (response.status === 404 || response.status === 410) {
      const hint = this.name.includes(".") ? "" : "; the address of a folder ends in a slash";
      throw new Absent(`the server answered ${response.status}: there is no such file${hint}`);
    }
    if (response.ok && isPage(response))
      throw new Absent("the server answered with an HTML page; is the file served at this address?");
    if (response.status === 416) throw new Absent("the file is empty");
  }

  private checkSame({ size, version, isPart }: Answer): void {
    if (!this.isOpen) {
      this.isOpen = true;
      this.size = size;
      this.version = version;
    } else if (size !== this.size && size !== Infinity && this.size !== Infinity) {
      networkFailure(
        this.name,
        `the file changed on the server: ${size} bytes, where it had ${this.size}; open it again`,
      );
    } else if (version !== this.version && version !== undefined && this.version !== undefined) {
      networkFailure(this.name, "the file changed on the server while it was read; open it again");
    }
    if (!isPart) this.seekCost = Infinity; // ranges are ignored: every stream begins at the first byte of the file
  }
}

/** The part of a response that was asked for, which with a server that ignores ranges is not all of it. */
async function* wanted(
  { start, body }: Answer & { body: ReadableStream<Uint8Array> },
  from: number,
  to: number,
  patience: Patience,
): AsyncGenerator<Uint8Array> {
  let position = start;
  for await (const chunk of patience.chunks(chunksOf(body, patience.signal))) {
    const piece = chunk.subarray(Math.max(from - position, 0), Math.max(to - position, 0));
    position += chunk.length;
    if (piece.length > 0) yield piece;
    if (position >= to) return;
  }
}

/** What fetch hides in the cause, in Node. */
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
