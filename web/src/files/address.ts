import { RopewalkError } from "../base/errors.js";

/** An address that can be fetched; relative ones are the page's. @throws INVALID_ARGUMENT @internal */
export function addressOf(source: string | URL): URL {
  const page = (globalThis as { location?: Location }).location?.href;
  let address: URL;
  try {
    address = new URL(source, page);
  } catch (cause) {
    throw new RopewalkError("INVALID_ARGUMENT", "source", `${String(source)} is not an address`, { cause });
  }
  if (!/^(https?|blob|data):$/.test(address.protocol)) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "source",
      `${address.protocol} is not fetched; in a page, hand in the files themselves`,
    );
  }
  return address;
}
