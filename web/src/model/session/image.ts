// The bytes that Session.save() returns: tokens and RoPE as JSON, then the image of the KV cache.
import type { KvCacheCore } from "../../cache/core.js";
import { restore } from "../../cache/image.js";
import { positionsOf } from "../../cache/read.js";
import { finishedConfig } from "../../config/finished_config.js";
import type { RopeConfig } from "../../config/types.js";
import { RopewalkError, fail } from "../../base/errors.js";

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
/** The longest context of a session, in tokens. @internal */
export const LONGEST_CONTEXT = 2 ** 24;

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

/** What a session's model must have in common with the one that was saved. @internal */
export interface SavedFor {
  readonly vocabularySize: number;
  readonly ropeGroups: number;
}

/** Throws INVALID_BYTES. @internal */
export function readSession(
  given: unknown,
  { vocabularySize, ropeGroups }: SavedFor,
): SavedSession & { cache: Uint8Array } {
  const bytes = viewOf(given);
  if (bytes === undefined || bytes.length < HEADER_BYTES) return reject("must be bytes that save() returned");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC) reject("must be bytes that save() returned");
  if (view.getUint32(4, true) !== VERSION)
    reject(`have format version ${view.getUint32(4, true)}; this package reads version ${VERSION}`);
  const end = HEADER_BYTES + view.getUint32(8, true);
  if (end > bytes.length) reject("are truncated");
  const json = bytes.slice(HEADER_BYTES, end);
  const saved = crc32(json) === view.getUint32(12, true) ? parse(json) : undefined;
  if (saved === undefined) return reject("are damaged");
  if (saved.ropes.length !== ropeGroups) reject("were saved with another model: its layers differ");
  if (!saved.tokens.every((token) => token < vocabularySize))
    reject("were saved with another model: its vocabulary differs");
  return { ...saved, cache: bytes.subarray(end) };
}

/**
 * Restores the image of an empty session's cache, and checks that it has the keys and values of `tokens` tokens at
 * positions 0, 1, 2 and so on.
 * @param setRopes - sets the saved RoPE of each group
 * @throws {@link RopewalkError} INVALID_BYTES, OUT_OF_MEMORY
 * @internal
 */
export function restoreCache(cache: KvCacheCore, tokens: number, setRopes: () => void, image: Uint8Array): void {
  try {
    setRopes();
    restore(cache, image, 0);
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.code === "OUT_OF_MEMORY" || error.code === "INVALID_BYTES")
      throw error;
    fail("INVALID_BYTES", "bytes", `don't fit this model: ${error.message}`, { cause: error });
  }
  const { module } = cache.heap;
  const written = cache.layers.map((_, layer) => module.kv_written(cache.address, layer, 0));
  if ([cache.tokens(0), ...written].some((count) => count !== tokens))
    reject(`have ${tokens} tokens, but keys and values of another number`);
  if (!positionsOf(cache, 0).every((position, i) => position === i % tokens))
    reject("have keys at other positions than their tokens");
}

/** The bytes, without what a subclass or a Proxy may do to reading them. */
function viewOf(given: unknown): Uint8Array | undefined {
  if (!ArrayBuffer.isView(given)) return undefined;
  try {
    return given instanceof Uint8Array ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength) : undefined;
  } catch {
    return undefined; // a detached array
  }
}

function reject(message: string): never {
  fail("INVALID_BYTES", "bytes", message);
}

function parse(json: Uint8Array): SavedSession | undefined {
  try {
    const { tokens, contextLength, ropes } = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(json),
    ) as Record<keyof SavedSession, unknown>;
    const isComplete = areTokens(tokens) && isContext(contextLength) && Array.isArray(ropes);
    return isComplete ? { tokens, contextLength, ropes: ropes.map(ropeOf) } : undefined;
  } catch {
    return undefined;
  }
}

function areTokens(tokens: unknown): tokens is number[] {
  return Array.isArray(tokens) && tokens.every((token) => Number.isInteger(token) && token >= 0);
}

function isContext(length: unknown): length is number {
  return Number.isInteger(length) && (length as number) >= 1 && (length as number) <= LONGEST_CONTEXT;
}

/** A saved RoPE was a finished config, so it has its scaling. */
function ropeOf(saved: unknown): Readonly<RopeConfig> {
  const { rope_scaling } = saved as RopeConfig;
  if (typeof rope_scaling?.rope_type !== "string") throw new TypeError("no scaling");
  return finishedConfig(saved);
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
