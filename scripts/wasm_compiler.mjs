// Reads which compiler built a wasm file, as bindings/compiler.cpp recorded it.

import { readFileSync } from "node:fs";

const CUSTOM = 0; // section id

/** Such as "Emscripten 6.0.5, Debian Clang 21.1.8", or undefined if the file has no record. */
export function compilerOf(file) {
  // Node 20 can't compile the relaxed build, so WebAssembly.Module.customSections is no help
  const bytes = readFileSync(file);
  let at = 8; // after magic number and version
  const readNumber = () => {
    let number = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return number;
    }
  };
  while (at < bytes.length) {
    const id = bytes[at++];
    const end = readNumber() + at;
    if (id === CUSTOM) {
      const nameEnd = readNumber() + at;
      if (bytes.toString("utf8", at, nameEnd) === "ropewalk.compiler") return bytes.toString("utf8", nameEnd, end);
    }
    at = end;
  }
  return undefined;
}
