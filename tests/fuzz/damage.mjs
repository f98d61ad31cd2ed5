// Damages saved images of caches and states (format: src/base/image.h).
import { crc32 } from "node:zlib";
import { EDGE_NUMBERS } from "./values.mjs";

const AT_TOTAL_BYTES = 24;
const START_BYTES = 32;
const CHECKSUM_BYTES = 4;

/** A copy with some numbers overwritten, mostly in the header. Its size and checksum usually match, so that what is behind them is reached. */
export function damaged(image, random) {
  const cut = random.chance(0.2) ? random.int(image.length + 32) : image.length;
  const bytes = new Uint8Array(cut);
  bytes.set(image.subarray(0, cut));
  const view = new DataView(bytes.buffer);
  const writes = [
    [1, (at) => view.setUint8(at, random.int(256))],
    [4, (at) => view.setInt32(at, random.pick([-1, 0, 1, 2, 3, 40, 1000, 2 ** 30, 2 ** 31 - 1, random.int(64)]), true)],
    [4, (at) => view.setFloat32(at, random.pick(EDGE_NUMBERS), true)],
    [8, (at) => view.setFloat64(at, random.pick([...EDGE_NUMBERS, random.int(100), 4 * random.unit() - 2]), true)],
  ];
  for (let changes = random.int(5); changes > 0; changes--) {
    const [size, write] = random.pick(writes);
    const end = random.chance(0.7) ? Math.min(cut, 300) : cut;
    const at = Math.floor(random.int(Math.max(1, end)) / size) * size;
    if (at + size <= cut) write(at);
  }
  if (cut >= START_BYTES + CHECKSUM_BYTES && random.chance(0.95)) {
    view.setFloat64(AT_TOTAL_BYTES, cut, true);
    view.setUint32(cut - CHECKSUM_BYTES, crc32(bytes.subarray(0, cut - CHECKSUM_BYTES)), true);
  }
  return bytes;
}
