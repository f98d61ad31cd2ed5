// The bytes that Session.save() returns: tokens and RoPE as JSON, then the image of the KV cache.
import type { RopeConfig } from "../config/types.js";
import { fail } from "../base/errors.js";

/** The saved state of a session besides its keys and values. @internal */
export interface SavedSession {
  readonly tokens: readonly number[];
  readonly contextLength: number;
  /** One for each group of layers that share a RoPE. */
  readonly ropes: readonly Readonly<RopeConfig>[];
}

// Layout: "RWSN", version, byte length and CRC-32 of the JSON, the JSON, and the image of the cache, which has its own
// version and checksum.
const MAGIC = 0x4e535752;
const VERSION = 1;
const HEADER_BYTES = 16;

/** @internal */
export function writeSession(saved: SavedSession, cache: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(saved));
  const bytes = new Uint8Array(HEADER_BYTES + json.length + cache.length);
  const view = new DataView(bytes.buffer);
  [MAGIC, VERSION, json.length, crc32(json)].forEach((word, i) => view.setUint32(4 * i, word, true));
  bytes.set(json, HEADER_BYTES);
  bytes.set(cache, HEADER_BYTES + json.length);
  return bytes;
}

/** Throws INVALID_BYTES. @internal */
export function readSession(bytes: Uint8Array, ropeGroups: number): SavedSession & { cache: Uint8Array } {
  if (!(bytes instanceof Uint8Array) || bytes.length < HEADER_BYTES) reject("must be bytes that save() returned");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC) reject("must be bytes that save() returned");
  if (view.getUint32(4, true) !== VERSION)
    reject(`have format version ${view.getUint32(4, true)}; this package reads version ${VERSION}`);
  const end = HEADER_BYTES + view.getUint32(8, true);
  if (end > bytes.length) reject("are truncated");
  const json = bytes.subarray(HEADER_BYTES, end);
  const saved = crc32(json) === view.getUint32(12, true) ? parse(json) : undefined;
  if (saved === undefined) reject("are damaged");
  if (saved.ropes.length !== ropeGroups) reject("were saved with another model: its layers differ");
  return { ...saved, cache: bytes.subarray(end) };
}

function reject(message: string): never {
  fail("INVALID_BYTES", "bytes", message);
}

function parse(json: Uint8Array): SavedSession | undefined {
  try {
    const saved = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json)) as SavedSession;
    const isComplete =
      Array.isArray(saved.tokens) &&
      saved.tokens.every(Number.isInteger) &&
      Array.isArray(saved.ropes) &&
      Number.isInteger(saved.contextLength);
    return isComplete ? saved : undefined;
  } catch {
    return undefined;
  }
}

/** CRC-32 as in src/base/checksum.h. Calling that one needs a copy in wasm memory, an allocation that can fail. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}
