// Writes a square of opacities as a PNG file.
import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const GRAY_AND_ALPHA = 4;

/** A PNG file of black pixels with these opacities, 0 to 1. [size, size] */
export function alphaPng(opacities: Float64Array, size: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, GRAY_AND_ALPHA, 0, 0, 0], 8);
  const rowBytes = 1 + 2 * size; // the first says that the row isn't filtered
  const pixels = Buffer.alloc(size * rowBytes);
  opacities.forEach((opacity, i) => {
    const [row, column] = [Math.floor(i / size), i % size];
    pixels[row * rowBytes + 2 + 2 * column] = Math.round(255 * opacity);
  });
  const parts = [
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pixels, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ];
  return Buffer.concat([SIGNATURE, ...parts]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
