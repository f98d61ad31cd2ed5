// The wasm files name the compiler that built them.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { compilerOf } from "../../scripts/wasm_compiler.mjs";

const wasm = join(import.meta.dirname, "..", "..", "dist", "wasm");

for (const name of ["ropewalk.wasm", "ropewalk.relaxed.wasm"]) {
  test(`${name} names its compiler`, () => {
    assert.match(compilerOf(join(wasm, name)), /^Emscripten \d+\.\d+\.\d+, .*[Cc]lang/);
  });
}

test("a wasm file without a record", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-wasm-"));
  const file = join(folder, "empty.wasm");
  await writeFile(file, Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00));
  assert.equal(compilerOf(file), undefined);
  await rm(folder, { recursive: true });
});
