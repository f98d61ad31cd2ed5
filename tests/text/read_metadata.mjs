// Reads the metadata of a GGUF file (version 3, little-endian), for tests that need nothing else from it.
import { readFileSync } from "node:fs";

export function readMetadata(path) {
  const bytes = readFileSync(path);
  let at = 8 + 8; // magic, version, number of tensors
  const number = (size, read) => {
    const value = read.call(bytes, at);
    at += size;
    return value;
  };
  const count = () => Number(number(8, bytes.readBigUInt64LE));
  const string = () => {
    const length = count();
    at += length;
    return bytes.toString("utf8", at - length, at);
  };
  const readers = [
    () => number(1, bytes.readUInt8),
    () => number(1, bytes.readInt8),
    () => number(2, bytes.readUInt16LE),
    () => number(2, bytes.readInt16LE),
    () => number(4, bytes.readUInt32LE),
    () => number(4, bytes.readInt32LE),
    () => number(4, bytes.readFloatLE),
    () => number(1, bytes.readUInt8) !== 0,
    string,
    array,
    () => number(8, bytes.readBigUInt64LE),
    () => number(8, bytes.readBigInt64LE),
    () => number(8, bytes.readDoubleLE),
  ];
  function array() {
    const read = readers[number(4, bytes.readUInt32LE)];
    return Array.from({ length: count() }, () => read());
  }

  const metadata = {};
  for (let left = count(); left > 0; --left) {
    const key = string();
    metadata[key] = readers[number(4, bytes.readUInt32LE)]();
  }
  return metadata;
}
