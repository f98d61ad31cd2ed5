// The header of saved sessions: its checksum is the standard CRC-32, and every changed byte is detected.
import assert from "node:assert/strict";
import test from "node:test";
import { crc32 } from "node:zlib";
import { crc32 as ownCrc32 } from "../../build/package/core/base/crc32.js";
import { finishedConfig } from "../../build/package/core/config/finished_config.js";
import { readSession, writeSession } from "../../build/package/runtime/model/session/image.js";

const facts = {
  model: "0123abcd",
  tokens: [1, 2, 70000],
  ropes: [finishedConfig({ head_dim: 8, pairing: "half", rope_theta: 1e4 })],
};
const like = { fingerprint: "0123abcd", vocabularySize: 70001, ropeGroups: 1 };
const images = { cache: Uint8Array.of(9, 8, 7), states: Uint8Array.of(6, 5) };
const imageBytes = 5;
const written = () => writeSession(facts, images.cache, images.states);

test("the checksum equals zlib's", () => {
  const bytes = written();
  const json = bytes.subarray(16, bytes.length - imageBytes);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(json)), JSON.parse(JSON.stringify({ ...facts, states: 2 })));
  assert.equal(new DataView(bytes.buffer).getUint32(12, true), crc32(json));
  assert.deepEqual(readSession(bytes, like), { ...facts, images });
});

test("a checksum can be taken in parts, as bytes arrive", () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => i * 7);
  for (const at of [0, 1, 50, 99, 100]) {
    const first = ownCrc32(bytes.subarray(0, at));
    assert.equal(ownCrc32(bytes.subarray(at), first), crc32(bytes));
  }
});

test("changed bytes, truncated bytes and another model's groups are rejected", () => {
  const bytes = written();
  const rejected = { name: "RopewalkError", code: "INVALID_BYTES", field: "bytes" };
  for (let at = 0; at < bytes.length - imageBytes; at++) {
    for (const flip of [1, 0x80, 0xff])
      assert.throws(() => readSession(bytes.with(at, bytes[at] ^ flip), like), rejected, `byte ${at}`);
    assert.throws(() => readSession(bytes.slice(0, at), like), rejected, `${at} bytes`);
  }
  assert.throws(() => readSession(bytes, { ...like, ropeGroups: 2 }), rejected);
  assert.throws(() => readSession(bytes, { ...like, fingerprint: "0123abce" }), rejected);
  assert.throws(() => readSession("bytes", like), { ...rejected, code: "INVALID_ARGUMENT" });
});
