// A package whose scripts come from another origin than the page.
import { textWorker } from "./text_worker.js";

/**
 * Whether a script came from another origin than the page's, such as a CDN. Browsers start no Workers from there.
 * @internal
 */
export function isFromOtherOrigin(script: string): boolean {
  return /^https?:/.test(script) && new URL(script).origin !== globalThis.location.origin;
}

/** A Worker of this page's origin that imports a module from another one, which must allow it by CORS. @internal */
export const moduleWorker = (address: string): Worker =>
  textWorker(`import ${JSON.stringify(address)};`, { type: "module" });

/** The same for a classic script. @internal */
export const scriptWorker = (address: string): Worker => textWorker(`importScripts(${JSON.stringify(address)});`, {});

/** The address of a file next to a script. @internal */
export const addressNextTo = (script: string, name: string): string => script.replace(/[^/]*$/, name);
