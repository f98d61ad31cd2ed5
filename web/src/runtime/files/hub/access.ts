// Where the Hub is, and the token for it.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";

const DEFAULT_HUB = "https://huggingface.co";

/** Address of a Hub without a slash at its end. @throws INVALID_ARGUMENT (hub) @internal */
export function hubAddress(given: string | URL | undefined): string {
  if (given === undefined) return DEFAULT_HUB;
  const isText = typeof given === "string" || given instanceof URL;
  const url = isText && URL.canParse(given) ? new URL(given) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    `${url.search}${url.hash}${url.username}${url.password}` !== ""
  )
    fail("INVALID_ARGUMENT", "hub", `must be the http: or https: address of a Hub (got ${show(given)})`);
  return url.href.replace(/\/+$/, "");
}

/** @throws INVALID_ARGUMENT (token) @internal */
export function checkToken(token: unknown, headers: Readonly<Record<string, string>>): string | undefined {
  if (token === undefined) return undefined;
  // not shown: it is a secret
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
    fail("INVALID_ARGUMENT", "token", "must be a string of letters, digits and signs, such as hf_…");
  if (Object.keys(headers).some((name) => name.toLowerCase() === "authorization"))
    fail(
      "INVALID_ARGUMENT",
      "token",
      "can't be combined with the header Authorization",
      advise.other("pass one of them"),
    );
  return token;
}

/** Request headers with a token. @internal */
export function bearer(token: string, headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { ...headers, Authorization: `Bearer ${token}` };
}
