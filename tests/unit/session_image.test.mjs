// What saved sessions begin with: its checksum is everybody's CRC-32, and no changed byte passes.
import assert from "node:assert/strict";
import test from "node:test";
import { crc32 } from "node:zlib";
import { readSession, writeSession } from "../../build/package/model/session_image.js";

const facts = {
  tokens: [1, 2, 70000],
  contextLength: 4096,
  ropes: [{ head_dim: 8, pairing: "half", rope_theta: 1e4 }],
};
const cache = Uint8Array.of(9, 8, 7);

test("the checksum is zlib's", () => {
  const bytes = writeSession(facts, cache);
  const json = bytes.subarray(16, bytes.length - cache.length);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(json)), facts);
  assert.equal(new DataView(bytes.buffer).getUint32(12, true), crc32(json));
  assert.deepEqual(readSession(bytes, 1), { ...facts, cache });
});

test("a changed byte, a cut and another model's groups are refused", () => {
  const bytes = writeSession(facts, cache);
  const refused = { name: "RopewalkError", code: "INVALID_BYTES", field: "bytes" };
  for (let at = 0; at < bytes.length - cache.length; at++) {
    for (const flip of [1, 0x80, 0xff])
      assert.throws(() => readSession(bytes.with(at, bytes[at] ^ flip), 1), refused, `byte ${at}`);
    assert.throws(() => readSession(bytes.slice(0, at), 1), refused, `${at} bytes`);
  }
  assert.throws(() => readSession(bytes, 2), refused);
  assert.throws(() => readSession("bytes", 1), refused);
});
