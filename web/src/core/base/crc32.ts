/**
 * CRC-32 as in src/base/checksum.h. Calling that one needs a copy in wasm memory, an allocation that can fail.
 * @param before - the CRC-32 of the bytes before these
 * @internal
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}
