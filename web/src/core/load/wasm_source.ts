// Tells whether two sources of wasm are the same.
import { typedArrayName, viewBytes } from "../base/typed_arrays.js";

/** The address of a source of wasm, if it has one. @internal */
export function addressOf(source: unknown): string | undefined {
  if (typeof source === "string") return source;
  if (source instanceof URL) return source.href;
  const isResponse = typeof Response === "function" && source instanceof Response;
  return isResponse && source.url !== "" ? source.url : undefined;
}

/** Whether two sources are the same object, address or bytes. @internal */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === undefined || other === undefined) return false;
  if (one === other) return true;
  try {
    const address = resolved(one);
    if (address !== undefined) return address === resolved(other);
    const [a, b] = [bytesOf(one), bytesOf(other)];
    return a !== undefined && b !== undefined && a.length === b.length && a.every((byte, i) => byte === b[i]);
  } catch {
    return false;
  }
}

function resolved(source: unknown): string | undefined {
  const address = addressOf(source);
  const base = (globalThis as { location?: { href: string } }).location?.href;
  return address !== undefined && URL.canParse(address, base) ? new URL(address, base).href : address;
}

function bytesOf(source: unknown): Uint8Array | undefined {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (source instanceof DataView) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return typedArrayName(source) === undefined ? undefined : viewBytes(source);
}
