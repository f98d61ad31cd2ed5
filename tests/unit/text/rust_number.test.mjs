// Numbers of a tokenizer.json as Hugging Face's Rust library reads them: scores of a released vocabulary, before and after `Tokenizer.to_str()`
// of the package tokenizers 0.23.3.
import assert from "node:assert/strict";
import test from "node:test";
import { asRustReads } from "../../../build/package/runtime/text/components/rust_number.js";

test("scores whose last bit differs", () => {
  for (const [written, read] of [
    ["-7.2147313217222795", -7.21473132172228],
    ["-7.6302387421796105", -7.630238742179611],
    ["-7.7898344623337685", -7.789834462333768],
    ["-7.9446332542230795", -7.94463325422308],
    ["-13.722918477747338", -13.72291847774734],
    ["-10.532853349579927", -10.532853349579929],
  ])
    assert.equal(asRustReads(Number(written)), read);
});

test("numbers that stay", () => {
  for (const value of [0, 7, -3.5, -13.85767201975375, -12.29954970278112, 1e-7, 2.5e21, -1e-300, 1.5e300])
    assert.equal(asRustReads(value), value);
});
