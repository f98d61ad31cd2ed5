import type { ByteSource, FileSet, NotThere } from "./byte_source.js";

/** Opens one file of a server. @internal */
export type OpenUrl = (url: URL, name: string, signal?: AbortSignal) => Promise<ByteSource | NotThere>;

/** The file at an address and its neighbours, or a folder, whose address ends in a slash. A query goes with every file. @internal */
export function httpFiles(url: URL, open: OpenUrl): FileSet {
  const last = url.pathname.slice(url.pathname.lastIndexOf("/") + 1);
  const first = last === "" ? undefined : decodedName(last);
  return {
    first,
    names: undefined,
    open: (name, signal) => open(name === first ? url : neighbour(url, name), name, signal),
  };
}

function neighbour(url: URL, name: string): URL {
  const address = new URL(encodeURIComponent(name), url);
  address.search = url.search;
  return address;
}

function decodedName(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
