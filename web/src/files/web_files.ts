import type { FilePlatform } from "./byte_source.js";

/** How pages and Workers get at files. Outside a secure context an origin keeps nothing. @internal */
export const webFiles: FilePlatform = {
  fetch: (...request) => fetch(...request),
  privateFolder: () => navigator.storage.getDirectory(),
  get caches() {
    return globalThis.caches;
  },
};
