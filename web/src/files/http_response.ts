import { networkFailure } from "./failures.js";

/** What a request may be repeated after. @internal */
export class Interrupted extends Error {
  constructor(
    message: string,
    /** Milliseconds that the server asks to wait; 0 where it does not. */
    readonly wait = 0,
  ) {
    super(message);
  }
}

/** Answers that pass: time-outs, too many requests, a server that is restarted. */
const PASSING = [408, 425, 429, 500, 502, 503, 504];

/** What a response says about the file. @internal */
export interface Answer {
  /** The bytes in it, from `start` to before `end`; Infinity where the end is not told. */
  readonly start: number;
  readonly end: number;
  /** The length of the file, or Infinity. */
  readonly size: number;
  /** Changes when the file does: its ETag, or when it was modified. */
  readonly version: string | undefined;
  /** Whether the server heeded the range. */
  readonly isPart: boolean;
}

/**
 * Checks what a server answers when asked for the bytes from `start` on. Headers that another origin hides count as absent.
 *
 * @throws NETWORK; Interrupted where asking again may help
 * @internal
 */
export function answerOf(file: string, response: Response, start: number): Answer {
  const { status, headers } = response;
  if (PASSING.includes(status)) {
    const wait = waitOf(headers.get("retry-after"));
    throw new Interrupted(
      `the server answered ${status}${wait > 0 ? ` and asked for ${Math.ceil(wait / 1000)} s` : ""}`,
      wait,
    );
  }
  if (status === 401 || status === 403)
    networkFailure(file, `the server answered ${status}: it wants leave to read; hand in \`headers\``);
  if (status === 416) networkFailure(file, `the server has no bytes from ${start} on: the file is shorter than it was`);
  if (status !== 200 && status !== 206) networkFailure(file, `the server answered ${status}`);
  if (isPage(response)) networkFailure(file, "the server answered with an HTML page");
  const version = (headers.get("etag") ?? headers.get("last-modified"))?.replace(/^W\//, "");
  const isEncoded = (headers.get("content-encoding") ?? "identity") !== "identity";
  if (status === 200) {
    const length = headers.get("content-length");
    const size = length === null || isEncoded ? Infinity : Number(length);
    return { start: 0, end: size, size, version, isPart: false };
  }
  if (isEncoded) networkFailure(file, "the server compresses parts of the file; turn compression off for it");
  if (headers.get("content-type")?.startsWith("multipart/"))
    networkFailure(file, "the server answered one range with several");
  const range = headers.get("content-range");
  if (range === null) return { start, end: Infinity, size: Infinity, version, isPart: true };
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(range) ?? [];
  const end = Number(last) + 1;
  const size = total === "*" ? Infinity : Number(total);
  if (first === undefined || Number(first) !== start || end <= start || end > size) {
    networkFailure(file, `the server was asked for bytes from ${start} on and answered with "${range}"`);
  }
  return { start, end, size, version, isPart: true };
}

/** Whether a server that does not know a file answered with a page, as those for single-page apps do. @internal */
export function isPage(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/html") ?? false;
}

/** What Retry-After says, in seconds or as a date (RFC 9110, section 10.2.3), in milliseconds from now. */
function waitOf(value: string | null): number {
  if (value === null) return 0;
  const milliseconds = /^\d+$/.test(value) ? 1000 * Number(value) : Date.parse(value) - Date.now();
  return milliseconds > 0 ? milliseconds : 0; // a date that is none is NaN
}
