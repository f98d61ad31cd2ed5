// XXH32, the 32-bit checksum of xxHash. WebCrypto's SHA-256 takes three times as long and blocks the thread in Chromium as well.

// its primes, as signed integers
const P1 = 0x9e3779b1 | 0;
const P2 = 0x85ebca77 | 0;
const P3 = 0xc2b2ae3d | 0;
const P4 = 0x27d4eb2f | 0;
const P5 = 0x165667b1 | 0;

const rotated = (x: number, bits: number): number => (x << bits) | (x >>> (32 - bits));

const round = (sum: number, word: number): number => Math.imul(rotated((sum + Math.imul(word, P2)) | 0, 13), P1);

/**
 * XXH32 with seed 0, as an unsigned number (Collet, xxHash fast digest algorithm, format specification 0.1.1).
 * @internal
 */
export function xxh32(bytes: Uint8Array): number {
  const wholeWords = bytes.length >>> 2;
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Int32Array(buffer, byteOffset, wholeWords);
  const striped = wholeWords & ~3;
  let hash = P5;
  if (striped > 0) {
    let [a, b, c, d] = [(P1 + P2) | 0, P2, 0, -P1 | 0];
    for (let i = 0; i < striped; i += 4) {
      a = round(a, words[i]!);
      b = round(b, words[i + 1]!);
      c = round(c, words[i + 2]!);
      d = round(d, words[i + 3]!);
    }
    hash = (rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18)) | 0;
  }
  hash = (hash + bytes.length) | 0;
  for (let i = striped; i < wholeWords; i++) hash = Math.imul(rotated((hash + Math.imul(words[i]!, P3)) | 0, 17), P4);
  for (let i = 4 * wholeWords; i < bytes.length; i++)
    hash = Math.imul(rotated((hash + Math.imul(bytes[i]!, P5)) | 0, 11), P1);
  hash = Math.imul(hash ^ (hash >>> 15), P2);
  hash = Math.imul(hash ^ (hash >>> 13), P3);
  return (hash ^ (hash >>> 16)) >>> 0;
}
