// URLs of a model's files on a server.
import * as advise from "../../../core/base/advice.js";
import { show } from "../../../core/base/show.js";
import { fail } from "../../../core/base/errors.js";
import type { ByteSource, FileSet, MissingFile } from "../byte_source.js";

/** Opens a file on a server, with a megabyte of it, or as many bytes as given. @internal */
export type OpenUrl = (
  url: URL,
  name: string,
  signal?: AbortSignal,
  firstBytes?: number,
) => Promise<ByteSource | MissingFile>;

/** Schemes that pages fetch; the last ones are those of the files that an extension brings. */
const FETCHED = /^(https?|blob|data|(chrome|moz|safari-web)-extension):$/;

/** Parses a URL that can be fetched. Relative URLs are resolved against the page's. @throws INVALID_ARGUMENT @internal */
export function parseUrl(source: string | URL): URL {
  const page = (globalThis as { location?: Location }).location?.href;
  let url: URL;
  try {
    if (typeof source !== "string" && !(source instanceof URL)) throw new TypeError("not a string");
    url = new URL(source, page);
  } catch (cause) {
    fail("INVALID_ARGUMENT", "source", `must be a URL (got ${show(source)})`, { cause });
  }
  if (!FETCHED.test(url.protocol)) {
    fail(
      "INVALID_ARGUMENT",
      "source",
      `must be an http:, https:, blob: or data: URL (got ${url.protocol})`,
      advise.blobs(),
    );
  }
  if (url.username !== "" || url.password !== "")
    fail("INVALID_ARGUMENT", "source", "must be a URL without a user name and password", advise.credentials());
  return url;
}

/** A URL without its fragment, which servers never see. @internal */
export function withoutFragment(url: URL): string {
  const copy = new URL(url);
  copy.hash = "";
  return copy.href;
}

/** The file at a URL and the others in its folder, or a folder if the URL ends in a slash. All files get the URL's query. @internal */
export function httpFiles(url: URL, open: OpenUrl): FileSet {
  const last = url.pathname.slice(url.pathname.lastIndexOf("/") + 1);
  const requested = last === "" ? undefined : decodedName(last);
  return {
    requested,
    names: undefined,
    open: (name, signal) => open(name === requested ? url : siblingUrl(url, name), name, signal),
  };
}

function siblingUrl(url: URL, name: string): URL {
  const sibling = new URL(name.split("/").map(encodeURIComponent).join("/"), url);
  sibling.search = url.search;
  return sibling;
}

function decodedName(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
