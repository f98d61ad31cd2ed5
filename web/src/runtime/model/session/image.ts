// The bytes that Session.save() returns: tokens and RoPE as JSON, then the image of the KV cache, then that of the
// states of recurrent layers, if the model has any.
import * as advise from "../../../core/base/advice.js";
import type { Advised } from "../../../core/base/advice.js";
import { count, savedBytes } from "../../../core/base/checks.js";
import { crc32 } from "../../../core/base/crc32.js";
import { changed, RopewalkError, fail } from "../../../core/base/errors.js";
import { restore } from "../../../core/cache/image.js";
import type { KvCacheCore } from "../../../core/cache/core.js";
import { KEY_MODES, type KeyMode } from "../../../core/cache/options.js";
import { positionsOf } from "../../../core/cache/read.js";
import { finishedConfig } from "../../../core/config/finished_config.js";
import type { RopeConfig } from "../../../core/config/types.js";
import { CACHE_DTYPES, type CacheDType } from "../../../core/memory/elements.js";
import type { TextMemory } from "../run/text_memory.js";

/** The saved state of a session besides its keys and values. @internal */
export interface SavedSession {
  /** Fingerprint of the model: see fingerprintOf(). Then those of adapters, after a `+` each. */
  readonly model: string;
  readonly tokens: readonly number[];
  /** One for each group of layers that share a RoPE. */
  readonly ropes: readonly Readonly<RopeConfig>[];
  /** Tokens at the beginning that a new session would have read alike. Older images don't say it: all of them. */
  readonly exact?: number;
}

/** What follows the JSON: the image of the cache, and that of the states, which is empty without recurrent layers. @internal */
export interface SavedImages {
  readonly cache: Uint8Array;
  readonly states: Uint8Array;
}

// Layout: "RWSN", version, byte length and CRC-32 of the JSON, the JSON with the byte length of the states, and the
// images of the cache and of the states, which have their own versions and checksums.
const MAGIC = 0x4e535752;
const VERSION = 3;
const HEADER_BYTES = 16;

const DAMAGED = "the saved session is damaged or cut short";

const NOT_SAVED = "isn't a saved session";

/** @internal */
export function writeSession(saved: SavedSession, cache: Uint8Array, states: Uint8Array): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify({ ...saved, states: states.length }));
  const bytes = new Uint8Array(HEADER_BYTES + json.length + cache.length + states.length);
  const view = new DataView(bytes.buffer);
  [MAGIC, VERSION, json.length, crc32(json)].forEach((word, i) => view.setUint32(4 * i, word, true));
  bytes.set(json, HEADER_BYTES);
  bytes.set(cache, HEADER_BYTES + json.length);
  bytes.set(states, HEADER_BYTES + json.length + cache.length);
  return bytes;
}

/** What a session's model must have in common with the one that was saved. @internal */
export interface SavedFor {
  readonly fingerprint: string;
  readonly vocabularySize: number;
  readonly ropeGroups: number;
}

/** Throws INVALID_BYTES, INVALID_ARGUMENT. @internal */
export function readSession(
  given: unknown,
  { fingerprint, vocabularySize, ropeGroups }: SavedFor,
): SavedSession & { images: SavedImages } {
  const bytes = savedBytes(given);
  if (bytes.length < HEADER_BYTES) reject(NOT_SAVED, advise.resave());
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC) reject(NOT_SAVED, advise.resave());
  if (view.getUint32(4, true) !== VERSION)
    reject(
      `the session has format version ${view.getUint32(4, true)}, and this package reads version ${VERSION}`,
      advise.resave(),
    );
  const end = HEADER_BYTES + view.getUint32(8, true);
  if (end > bytes.length) reject(DAMAGED, advise.resave());
  const json = bytes.slice(HEADER_BYTES, end);
  const saved = crc32(json) === view.getUint32(12, true) ? parse(json) : undefined;
  if (saved === undefined) return reject(DAMAGED, advise.resave());
  if (saved.model.split("+")[0] === fingerprint.split("+")[0] && saved.model !== fingerprint)
    reject("the session was saved with other adapters", advise.sameAdapters());
  if (saved.model !== fingerprint)
    reject(
      "the session was saved with another model, or with another quantization of it",
      advise.other("load the model as it was when it was saved"),
    );
  if (saved.ropes.length !== ropeGroups)
    reject(
      `the session has ${count(saved.ropes.length, "RoPE")}, but this model's layers use ${ropeGroups}`,
      advise.load({ option: "rope", saved: true }),
    );
  if (!saved.tokens.every((token) => token < vocabularySize))
    reject("the session has tokens that this model doesn't have");
  const { states, ...session } = saved;
  const middle = bytes.length - states;
  if (middle < end) reject(DAMAGED, advise.resave());
  return { ...session, images: { cache: bytes.subarray(end, middle), states: bytes.subarray(middle) } };
}

/**
 * Restores the images of an empty session's memory, and checks that it has the keys and values of `tokens` tokens at
 * positions 0, 1, 2 and so on, and states that have seen them.
 * @param setRopes - sets the saved RoPE of each group
 * @throws {@link RopewalkError} INVALID_BYTES, OUT_OF_MEMORY
 * @internal
 */
export function restoreMemory(memory: TextMemory, tokens: number, setRopes: () => void, images: SavedImages): void {
  const { cache } = memory;
  try {
    setRopes();
    restore(cache, images.cache, 0);
    if (memory.hasStates || images.states.length > 0) memory.restoreStates(images.states);
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.code === "OUT_OF_MEMORY") throw error;
    // what damaged bytes say of themselves misleads: that they are of another model or version
    if (![images.cache, images.states].every(isIntact)) reject(DAMAGED, advise.resave());
    checkStored(images.cache, cache);
    if (error.code === "INVALID_BYTES") throw error;
    throw changed(error, {
      code: "INVALID_BYTES",
      field: "bytes",
      problem: `the session doesn't fit this model: ${error.field && `${error.field}: `}${error.problem}`,
      cause: error,
    });
  }
  if ((memory.stateTokens ?? tokens) !== tokens)
    reject(`the session has ${tokens} tokens, but states of another number`);
  if (cache.layers.length === 0) return;
  const { module } = cache.heap;
  const written = cache.layers.map((_, layer) => module.kv_written(cache.address, layer, 0));
  if ([cache.tokens(0), ...written].some((length) => length !== tokens))
    reject(`the session has ${tokens} tokens, but keys and values of another number`);
  if (!positionsOf(cache, 0).every((position, i) => position === i % tokens))
    reject("the session has keys at other positions than their tokens");
}

/** Where an image of a cache says how keys and values are stored: after the start that all images have (src/base/image.h), as two 32-bit words. */
const STORED_AT = 32;

function storedIn(image: Uint8Array): { dtype: CacheDType | undefined; keys: KeyMode | undefined } {
  if (image.length < STORED_AT + 8) return { dtype: undefined, keys: undefined };
  const view = new DataView(image.buffer, image.byteOffset + STORED_AT);
  return { dtype: CACHE_DTYPES[view.getUint32(0, true)], keys: KEY_MODES[view.getUint32(4, true)] };
}

/** How the keys in an image are stored; undefined in damaged ones. @internal */
export function keyModeOf(image: Uint8Array): KeyMode | undefined {
  return storedIn(image).keys;
}

/** Throws INVALID_BYTES if the cache stores keys and values in another way than an image. */
function checkStored(image: Uint8Array, cache: KvCacheCore): void {
  const { dtype, keys } = storedIn(image);
  if (dtype !== undefined && dtype !== cache.dtype)
    reject(
      `the session has keys and values of type ${dtype}, but the model stores ${cache.dtype}`,
      advise.load({ option: "kv.dtype", value: `"${dtype}"`, saved: true }),
    );
  if (keys !== undefined && keys !== cache.keys)
    reject(
      `the session has ${keys} keys, but the model stores ${cache.keys} ones`,
      advise.load({ option: "kv.keys", value: `"${keys}"`, saved: true }),
    );
}

/** Whether an image ends in the CRC-32 of what is before it. There is none of a model without recurrent layers. */
function isIntact(image: Uint8Array): boolean {
  if (image.length === 0) return true;
  const end = image.length - 4;
  return (
    end > 0 && crc32(image.subarray(0, end)) === new DataView(image.buffer, image.byteOffset + end).getUint32(0, true)
  );
}

function reject(problem: string, advised?: Advised): never {
  fail("INVALID_BYTES", "bytes", problem, advised);
}

function parse(json: Uint8Array): (SavedSession & { states: number }) | undefined {
  try {
    const { model, tokens, ropes, states, exact } = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(json),
    ) as Record<keyof SavedSession | "states", unknown>;
    const isComplete =
      typeof model === "string" && areTokens(tokens) && Array.isArray(ropes) && isSize(states) && isSize(exact ?? 0);
    return isComplete
      ? { model, tokens, ropes: ropes.map(ropeOf), states, ...(exact !== undefined && { exact: exact as number }) }
      : undefined;
  } catch {
    return undefined;
  }
}

function areTokens(tokens: unknown): tokens is number[] {
  return Array.isArray(tokens) && tokens.every((token) => Number.isInteger(token) && token >= 0);
}

function isSize(states: unknown): states is number {
  return Number.isInteger(states) && (states as number) >= 0;
}

/** A saved RoPE was a finished config, so it has its scaling. */
function ropeOf(saved: unknown): Readonly<RopeConfig> {
  const { rope_scaling } = saved as RopeConfig;
  if (typeof rope_scaling?.rope_type !== "string") throw new TypeError("no scaling");
  return finishedConfig(saved);
}
