// Limits that C++ and TypeScript share: what TypeScript accepts, the core must be able to hold.
import assert from "node:assert/strict";
import test from "node:test";
import { readTree } from "../../scripts/check_rules.mjs";

/** TypeScript constant in web/src/runtime/model/config/limits.ts: constant of the core. */
const SHARED = {
  MAX_LAYERS: "kMaxLayers",
  MAX_WIDTH: "kMaxWidth",
  MAX_VOCABULARY: "kMaxVocabulary",
  MAX_EXPERTS: "kMaxExperts",
  MAX_HEAD_DIM: "kMaxHeadDim",
};

/** The value of a constant: a number, or a number shifted by another. */
function valueOf(text, pattern) {
  const [, number, shift = "0"] = pattern.exec(text) ?? [];
  assert.notEqual(number, undefined, String(pattern));
  return Number(number) * 2 ** Number(shift);
}

test("limits are the same in C++ and in TypeScript", async () => {
  const tree = await readTree();
  const core = Object.entries(tree)
    .filter(([path]) => /^src\/.*\.h$/.test(path))
    .map(([, text]) => text)
    .join("\n");
  const limits = tree["web/src/runtime/model/config/limits.ts"];
  for (const [typescript, cpp] of Object.entries(SHARED)) {
    const expected = valueOf(core, new RegExp(`constexpr int ${cpp} = (\\d+)(?: << (\\d+))?;`));
    assert.equal(valueOf(limits, new RegExp(`const ${typescript} = (\\d+)(?: << (\\d+))?;`)), expected, typescript);
  }
});
