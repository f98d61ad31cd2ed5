// The model cache in Node, which has none for addresses: hub.test.mjs has models by name. tests/browser/model.test.mjs tests browsers.
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { load } from "ropewalk/worker";
import { build, rejects, rw } from "../helpers/runtime.mjs";

process.env.HF_HUB_CACHE = join(tmpdir(), "ropewalk-no-such-folder");

test("Node has no model cache for addresses", async () => {
  const worker = await load({ build });
  for (const one of [rw, worker]) {
    assert.deepEqual(await one.cachedModels(), []);
    assert.equal(await one.deleteCachedModel("https://example.org/model.gguf"), false);
    await rejects(one.deleteCachedModel("ftp://example.org/model.gguf"), "INVALID_ARGUMENT", "source");
    await assert.rejects(one.deleteCachedModel("../../x"), {
      code: "INVALID_ARGUMENT",
      message: /a URL or a name such as/,
    });
  }
  await worker.dispose();
});
