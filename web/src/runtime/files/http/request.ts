// Makes requests. The caller's headers go to the origin of the caller's URL and to no other.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { quote, show } from "../../../core/base/show.js";
import { networkError } from "../errors.js";

/** Redirects that are followed, as in the Fetch standard. */
const MAX_REDIRECTS = 20;

/** Checks request headers. @throws INVALID_ARGUMENT (headers) @internal */
export function checkHeaders(headers: unknown): Readonly<Record<string, string>> {
  if (headers === undefined) return {};
  if (!isDict(headers)) fail("INVALID_ARGUMENT", "headers", `must be an object of strings (got ${show(headers)})`);
  // the Headers class has no keys of its own: without this, its headers would be dropped silently
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  for (const [name, value] of entries) {
    if (typeof value !== "string")
      fail("INVALID_ARGUMENT", "headers", `${quote(name)} must be a string (got ${show(value)})`);
    if (name.toLowerCase() === "range")
      fail("INVALID_ARGUMENT", "headers", "can't have Range, which each request sets");
    try {
      new Headers([[name, value]]);
    } catch (cause) {
      fail("INVALID_ARGUMENT", "headers", `${quote(name)} isn't a valid header`, { cause });
    }
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

/**
 * Requests a range of a file.
 *
 * With headers of the caller, redirects are followed here: on the way to another origin the headers are left out, and stay out. A page
 * doesn't see where a redirect leads. There, one within the page's own origin is followed, and any other is refused, unless `Authorization`
 * is the only header: browsers remove that one themselves.
 *
 * @throws NETWORK if the redirect can't be followed; what fetch throws
 * @internal
 */
export async function request(
  fetch: typeof globalThis.fetch,
  url: URL,
  file: string,
  headers: Readonly<Record<string, string>>,
  range: string,
  signal: AbortSignal,
): Promise<Response> {
  // Chromium answers a range of an extension's file with 200, so that it looks like the whole file
  if (url.protocol.endsWith("-extension:")) return fetch(url, { headers, signal });
  if (Object.keys(headers).length === 0) return fetch(url, { headers: { Range: range }, signal });
  let at = url;
  let sent: Record<string, string> = { ...headers, Range: range };
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await fetch(at, { headers: sent, signal, redirect: "manual" });
    if (response.type === "opaqueredirect") return followInPage(fetch, url, file, headers, range, signal);
    const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get("location") : null;
    if (location === null) return response;
    await response.body?.cancel().catch(() => undefined);
    const next = targetOf(location, at, file);
    if (next.origin !== url.origin) sent = { Range: range };
    at = next;
  }
  return networkError(file, `${url.href}: more than ${MAX_REDIRECTS} redirects`, advise.other("check the URL"));
}

function targetOf(location: string, from: URL, file: string): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target === undefined || !/^https?:$/.test(target.protocol))
    return networkError(file, `${from.href}: redirects to ${quote(location)}, which isn't an http: or https: URL`);
  return target;
}

async function followInPage(
  fetch: typeof globalThis.fetch,
  url: URL,
  file: string,
  headers: Readonly<Record<string, string>>,
  range: string,
  signal: AbortSignal,
): Promise<Response> {
  const given = { headers: { ...headers, Range: range }, signal };
  const names = Object.keys(headers).filter((name) => name.toLowerCase() !== "authorization");
  if (names.length === 0) return fetch(url, given);
  const leak = `and it could lead to another origin, which must not get the header ${quote(names[0]!)}`;
  const advice = `pass the URL that the server redirects to, or only "Authorization" as a header`;
  if (url.origin !== (globalThis as { location?: Location }).location?.origin)
    return networkError(file, `${url.href}: the server redirects, ${leak}`, advise.other(advice));
  try {
    return await fetch(url, { ...given, mode: "same-origin" }); // fails before a request leaves the origin
  } catch (cause) {
    signal.throwIfAborted();
    return networkError(file, `${url.href}: the server redirects to another origin or stopped responding`, {
      ...advise.other(advice),
      cause,
    });
  }
}
