import type { RopeConfig } from "../config/types.js";
import { RopewalkError } from "../base/errors.js";

/** What a session's bytes tell, beside its keys and values. @internal */
export interface SessionFacts {
  readonly tokens: readonly number[];
  readonly contextLength: number;
  /** Of each group of layers that one RoPE turns. */
  readonly ropes: readonly Readonly<RopeConfig>[];
}

// "RWSN", version, bytes and checksum of the JSON; the JSON; the image of the cache, which has a version and a checksum of its own.
const MAGIC = 0x4e535752;
const VERSION = 1;
const HEAD_BYTES = 16;

/** @internal */
export function writeSession(facts: SessionFacts, cache: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(facts));
  const bytes = new Uint8Array(HEAD_BYTES + json.length + cache.length);
  const view = new DataView(bytes.buffer);
  [MAGIC, VERSION, json.length, crc32(json)].forEach((word, i) => view.setUint32(4 * i, word, true));
  bytes.set(json, HEAD_BYTES);
  bytes.set(cache, HEAD_BYTES + json.length);
  return bytes;
}

/** Throws INVALID_BYTES. @internal */
export function readSession(bytes: Uint8Array, ropeGroups: number): SessionFacts & { cache: Uint8Array } {
  const refuse = (message: string): never => {
    throw new RopewalkError("INVALID_BYTES", "bytes", message);
  };
  if (!(bytes instanceof Uint8Array) || bytes.length < HEAD_BYTES) return refuse("are not what save() returned");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC) return refuse("are not what save() returned");
  if (view.getUint32(4, true) !== VERSION)
    return refuse(`are of version ${view.getUint32(4, true)}; this package reads ${VERSION}`);
  const end = HEAD_BYTES + view.getUint32(8, true);
  if (end > bytes.length) return refuse("are cut short");
  const json = bytes.subarray(HEAD_BYTES, end);
  const facts = crc32(json) === view.getUint32(12, true) ? parse(json) : undefined;
  if (facts === undefined) return refuse("are damaged");
  if (facts.ropes.length !== ropeGroups) return refuse("belong to a model of other layers");
  return { ...facts, cache: bytes.subarray(end) };
}

function parse(json: Uint8Array): SessionFacts | undefined {
  try {
    const facts = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json)) as SessionFacts;
    const isWhole =
      Array.isArray(facts.tokens) &&
      facts.tokens.every(Number.isInteger) &&
      Array.isArray(facts.ropes) &&
      Number.isInteger(facts.contextLength);
    return isWhole ? facts : undefined;
  } catch {
    return undefined;
  }
}

/** CRC-32 as in src/base/checksum.h. In wasm it would take a copy there, for which memory may be refused, to spare eight lines. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}
