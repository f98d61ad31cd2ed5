// Files of the package that aren't next to its scripts.
import * as advise from "../base/advice.js";

// Vite before 8, and Angular before 22, bundle packages for their development server into a cache, apart from the other files of the package.
const BUNDLED_BY_VITE = /\/(?:node_modules|\.angular)\/.*\bvite\/(?:.*\/)?deps\//;

/** Where a file is that would be next to a script in the cache of Vite; any other address as it is. @internal */
export const outsideCache = (address: string): string =>
  address.replace(BUNDLED_BY_VITE, "/node_modules/ropewalk/dist/");

/** What to do if there is no wasm or no Worker's script at an address; nothing for addresses of the caller. @internal */
export function missingFileHint(address: string): Partial<advise.Advised> {
  if (/\bvite\/.*deps\/|\/node_modules\/ropewalk\//.test(address))
    return advise.code('set optimizeDeps: { exclude: ["ropewalk"] } in the config of Vite');
  return /\/wasm\/ropewalk[.a-z]*\.wasm$/.test(address)
    ? advise.code("copy the package's wasm files there, or import from ropewalk/inline")
    : {};
}

/** What to do where only a server's files can be read. @internal */
export function unreadHint(address: string): Partial<advise.Advised> {
  return address.startsWith("file:")
    ? advise.code('in Node, import "ropewalk" by its name, or dist/index.node.js; a page must come from a server')
    : {};
}
