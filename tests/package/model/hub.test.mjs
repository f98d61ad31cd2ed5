// Models by name: in this thread, in a Worker and in the Doctor, against a stand-in for the Hub.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { diagnose } from "ropewalk/doctor";
import { load } from "ropewalk/worker";
import { commitOf, serveHub, TOKEN } from "../../files/hub.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build, rejects, rw } from "../helpers/runtime.mjs";

const folder = mkdtempSync(join(tmpdir(), "ropewalk-hub-"));
process.env.HF_HUB_CACHE = folder; // Workers started from here on have it, too
test.after(() => rmSync(folder, { recursive: true, force: true }));

const path = tinyModel("llama");
const files = Object.fromEntries(
  readdirSync(path)
    .filter((name) => /\.(json|safetensors)$/.test(name))
    .map((name) => [name, readFileSync(join(path, name))]),
);
const name = "org/tiny-llama";

test("a model by its name, in this thread and in a Worker", async (t) => {
  const { url: hub, requests } = await serveHub(t, { [name]: { files, gated: "auto" } });
  const options = { hub, token: TOKEN, retries: 0 };
  const worker = await load({ build });
  t.after(() => worker.dispose());
  const byPath = await rw.modelInfo(path);
  const choice = {
    ...{ repository: name, commit: commitOf(files), file: "model.safetensors" },
    ...{ reason: "the only model in the repository", bytes: files["model.safetensors"].length },
  };
  for (const one of [rw, worker]) {
    const seen = new Set();
    const model = await one.model(name, { ...options, onProgress: ({ file }) => seen.add(file) });
    const { hub: chosen, ...info } = model.info;
    assert.deepEqual(chosen, choice);
    assert.deepEqual(info, byPath);
    assert.deepEqual([...seen].at(-1), "model.safetensors");
    await model.dispose();
    assert.deepEqual((await one.modelInfo(`${name}@main`, options)).hub, choice);
    assert.deepEqual(
      (await one.cachedModels()).map(({ source, cache }) => ({ source, cache })),
      [{ source: name, cache: "disk" }],
    );
  }
  assert.equal(requests.filter(({ host }) => host === "localhost").length, 1); // downloaded once
  await rejects(rw.model(name, { hub, cache: "none" }), "NETWORK", "model.safetensors: download");
  assert.equal(await worker.deleteCachedModel(name), true);
  assert.deepEqual(await rw.cachedModels(), []);
});

test("the Doctor takes a name", async (t) => {
  const { url: hub } = await serveHub(t, { [name]: { files, gated: "auto" } });
  const { name: read, source } = await diagnose(rw, name, { hub, token: TOKEN });
  const expected = await diagnose(rw, path);
  assert.deepEqual([read, source], [expected.name, expected.source]);
  await rejects(diagnose(rw, `${name}@none`, { hub, token: TOKEN }), "NETWORK", `${name}: download`);
});
