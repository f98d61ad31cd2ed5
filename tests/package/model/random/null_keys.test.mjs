// Keys that are null in a config.json, which isn't the same as leaving them out. The losses are those of transformers 5.24.
import assert from "node:assert/strict";
import test from "node:test";
import { changedFiles } from "../../helpers/changed_models.mjs";
import { isNear, resultOf } from "../../helpers/field_results.mjs";

const LOSSES = {
  scale_depth: [74.3514, 60.4835, 61.3539, 90.7947, 6.5697, 20.2733, 38.3965, 48.1935],
  dim_model_base: [7.72596, 7.30951, 7.40781, 8.85962, 1.84164, 3.05925, 4.4606, 6.11477],
};

for (const [key, expected] of Object.entries(LOSSES))
  test(`MiniCPM 3: ${key} that is null is no scale, which its class doesn't have by default`, async () => {
    const losses = await resultOf("minicpm3", changedFiles("minicpm3", { set: { [key]: null } }));
    assert.ok(isNear(losses, expected), `${losses}`);
  });
