// Wasm memory, shared between threads or not.

/** Pages of 64 KB, as in the module's import (cmake/wasm.cmake). */
const INITIAL_PAGES = 256;
const MAXIMUM_PAGES = 65536;

/** The import of a memory: its kind, a flag, and both limits in LEB128. */
const MEMORY = 0x02;
const UNSHARED = 0x01;
const SHARED = 0x03;
const LIMITS = [0x80, 0x02, 0x80, 0x80, 0x04];

/** Where the limits are searched. Imports are among the first sections. */
const SEARCHED_BYTES = 1 << 14;

/**
 * Why memory can't be shared with Workers here; undefined if it can: in Node, and in pages that are cross-origin isolated.
 * @internal
 */
export function whyNotShared(): string | undefined {
  const {
    crossOriginIsolated = true,
    isSecureContext = true,
    SharedArrayBuffer: constructor,
  } = globalThis as { crossOriginIsolated?: boolean; isSecureContext?: boolean; SharedArrayBuffer?: unknown };
  if (!isSecureContext) return "this page isn't served over HTTPS, so it can't be cross-origin isolated";
  if (!crossOriginIsolated)
    return "this page isn't cross-origin isolated; send Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp";
  return constructor === undefined ? "this engine has no SharedArrayBuffer" : undefined;
}

/** Creates the memory of a module. @internal */
export function createMemory(shared: boolean): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAXIMUM_PAGES, shared });
}

/**
 * Returns the bytes of the same module, but for shared memory. The only difference is one bit of its import. Bytes without that import are returned as
 * they are.
 * @internal
 */
export function withSharedMemory(bytes: Uint8Array): Uint8Array {
  return withFlag(bytes, SHARED);
}

/** The same for memory that isn't shared, which is how the wasm files ship. @internal */
export function withUnsharedMemory(bytes: Uint8Array): Uint8Array {
  return withFlag(bytes, UNSHARED);
}

function withFlag(bytes: Uint8Array, flag: number): Uint8Array {
  const at = flagOffset(bytes);
  if (at === -1) return bytes;
  const copy = bytes.slice();
  copy[at] = flag;
  return copy;
}

/** Where the flag of the imported memory is; -1 if there is none. */
function flagOffset(bytes: Uint8Array): number {
  const end = Math.min(bytes.length, SEARCHED_BYTES) - LIMITS.length;
  for (let at = 8; at < end; at++) {
    const isFlag = bytes[at] === UNSHARED || bytes[at] === SHARED;
    if (isFlag && bytes[at - 1] === MEMORY && LIMITS.every((byte, i) => bytes[at + 1 + i] === byte)) return at;
  }
  return -1;
}
