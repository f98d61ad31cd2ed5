// The bytes of a saved session (web/src/runtime/model/session/image.ts) with its text several times in a row. Keys and values repeat with it,
// so that a long cache takes no long prompt. Speed doesn't depend on the values.
import { crc32 } from "/build/package/core/base/crc32.js";

const SESSION_HEADER = 16;
/** Of the image of a cache: src/base/image.h, then the headers of src/cache/kv_image.cpp. */
const [IMAGE_START, GEOMETRY, LAYER, CHECKSUM] = [32, 40, 16, 4];

/** `bytes` of a session of full pages whose model has no recurrent layers, and whose cache has the same rows in every layer. */
export function repeatedSession(bytes, times) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const jsonBytes = view.getUint32(8, true);
  const json = JSON.parse(new TextDecoder().decode(bytes.subarray(SESSION_HEADER, SESSION_HEADER + jsonBytes)));
  const image = bytes.subarray(SESSION_HEADER + jsonBytes);
  const tokens = json.tokens.length;
  const text = { ...json, tokens: Array.from({ length: times }, () => json.tokens).flat() };
  const saved = new TextEncoder().encode(JSON.stringify(text));
  const start = SESSION_HEADER + saved.length;
  const repeated = repeatedImage(image, tokens, times, start);
  const out = new DataView(repeated.buffer);
  for (const [i, word] of [view.getUint32(0, true), view.getUint32(4, true), saved.length, crc32(saved)].entries())
    out.setUint32(4 * i, word, true);
  repeated.set(saved, SESSION_HEADER);
  return repeated;
}

/** Writes the image of a cache after `start` bytes that are left free. */
function repeatedImage(image, tokens, times, start) {
  const view = new DataView(image.buffer, image.byteOffset);
  const header = IMAGE_START + view.getUint32(16, true);
  const layers = view.getInt32(IMAGE_START + 12, true);
  const heads = view.getInt32(IMAGE_START + GEOMETRY, true);
  const positions = 8 * tokens;
  const runs = 2 * layers * heads; // rows of all tokens: keys, then values, of each layer and head
  const runBytes = (image.length - header - positions - CHECKSUM) / runs;
  const size = header + times * (positions + runs * runBytes) + CHECKSUM;
  const repeated = new Uint8Array(start + size);
  const to = repeated.subarray(start);
  const out = new DataView(repeated.buffer, start);
  to.set(image.subarray(0, header));
  out.setFloat64(24, size, true);
  out.setInt32(IMAGE_START + 20, times * tokens, true);
  for (let layer = 0; layer < layers; layer++)
    out.setInt32(IMAGE_START + GEOMETRY + LAYER * layer + 12, times * tokens, true);
  const parts = [positions, ...new Array(runs).fill(runBytes)];
  let [from, at] = [header, header];
  for (const bytes of parts) {
    for (let time = 0; time < times; time++, at += bytes) to.set(image.subarray(from, from + bytes), at);
    from += bytes;
  }
  for (let position = 0; position < times * tokens; position++) out.setFloat64(header + 8 * position, position, true);
  out.setUint32(size - CHECKSUM, crc32(to.subarray(0, size - CHECKSUM)), true);
  return repeated;
}
