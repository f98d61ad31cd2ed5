// Checks a server's response to a range request.
import type { Advised } from "../../../core/base/advice.js";
import * as advise from "../../../core/base/advice.js";
import { networkError } from "../errors.js";

/** A failure after which the request may be repeated. @internal */
export class RetryableError extends Error {
  constructor(
    message: string,
    /** Milliseconds to wait, from the server's Retry-After; 0 if it sent none. */
    readonly retryAfter = 0,
    /** What to do. */
    readonly advised?: Advised,
  ) {
    super(message);
  }
}

/** Temporary failures: timeouts, rate limits, a server that is restarting. */
const RETRYABLE_STATUSES = [408, 425, 429, 500, 502, 503, 504];

/** What a refusal means, where the kind of server is known, and what to do. @internal */
export interface Explained {
  readonly problem: string;
  readonly advised?: Advised;
}

/** What a response says about its bytes and about the file. @internal */
export interface RangeResponse {
  /** The response body holds the bytes in [start, end) of the file. `end` is Infinity if the server doesn't send it. */
  readonly start: number;
  readonly end: number;
  /** Length of the file in bytes, or Infinity. */
  readonly size: number;
  /** Identifies this version of the file: its ETag or Last-Modified. */
  readonly version: string | undefined;
  /** Whether that is a strong ETag. */
  readonly isExact: boolean;
  /** Whether the server returned a range and not the whole file. */
  readonly isPartial: boolean;
}

/**
 * Checks the response to a request for the bytes from `start` on. Headers that CORS hides count as missing.
 *
 * @param url of the request, for messages
 * @param explain explains a response with an error status, where the kind of server is known
 * @throws NETWORK; RetryableError if repeating the request may help
 * @internal
 */
export function parseResponse(
  file: string,
  url: string,
  response: Response,
  start: number,
  explain?: (response: Response) => Explained | undefined,
): RangeResponse {
  const refuse = (problem: string, advised?: Advised): never => networkError(file, `${url}: ${problem}`, advised);
  const { status, headers } = response;
  if (RETRYABLE_STATUSES.includes(status)) {
    const wait = parseRetryAfter(headers.get("retry-after"));
    const asked = wait > 0 ? `, and the server asked to wait ${Math.ceil(wait / 1000)} s` : "";
    const meaning = explain?.(response);
    throw new RetryableError(
      `status ${status}${asked}${meaning === undefined ? "" : ` (${meaning.problem})`}`,
      wait,
      meaning?.advised,
    );
  }
  const meaning = response.ok ? undefined : explain?.(response);
  if (meaning !== undefined) return refuse(meaning.problem, meaning.advised);
  if (status === 401 || status === 403) return refuse(`status ${status}, access denied`, advise.credentials());
  if (status === 416)
    return refuse(
      `status 416, no bytes from ${start} on: the file is shorter than before`,
      advise.other("open it again"),
    );
  if (status !== 200 && status !== 206)
    return refuse(`status ${status}, expected 200 or 206`, advise.other("check the URL"));
  if (isHtml(response))
    return refuse("the server responded with an HTML page", advise.other("check that the file is served at this URL"));
  const tag = headers.get("etag");
  const version = (tag ?? headers.get("last-modified"))?.replace(/^W\//, "");
  const isExact = tag?.startsWith('"') ?? false;
  const isEncoded = (headers.get("content-encoding") ?? "identity") !== "identity";
  if (status === 200) {
    const length = headers.get("content-length");
    const size = length === null || isEncoded ? Infinity : Number(length);
    return { start: 0, end: size, size, version, isExact, isPartial: false };
  }
  if (isEncoded)
    return refuse(
      "the server compresses range responses",
      advise.other("disable compression for this file on the server"),
    );
  if (headers.get("content-type")?.startsWith("multipart/"))
    return refuse("the server responded to a request for one range with several");
  const range = headers.get("content-range");
  if (range === null) return { start, end: Infinity, size: Infinity, version, isExact, isPartial: true };
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(range) ?? [];
  const end = Number(last) + 1;
  const size = total === "*" ? Infinity : Number(total);
  if (first === undefined || Number(first) !== start || end <= start || end > size) {
    return refuse(`bytes from ${start} on were requested, but the server responded with Content-Range "${range}"`);
  }
  return { start, end, size, version, isExact, isPartial: true };
}

/** Whether the response is an HTML page. Servers of single-page apps send one, with status 200, for files they don't have. @internal */
export function isHtml(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/html") ?? false;
}

/** Milliseconds from now given by Retry-After, which has seconds or a date (RFC 9110, section 10.2.3). 0 if invalid or past. */
function parseRetryAfter(value: string | null): number {
  if (value === null) return 0;
  const milliseconds = /^\d+$/.test(value) ? 1000 * Number(value) : Date.parse(value) - Date.now();
  return milliseconds > 0 ? milliseconds : 0; // an invalid date is NaN
}
