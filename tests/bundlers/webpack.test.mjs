// webpack 5: nothing to set but its advice on sizes.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import webpack from "webpack";
import { withBrowser } from "../browser/browsers.mjs";
import { addPage, BOTH_BUILDS, filesOf, generatedIn, rotatedBy, run, scriptsOf, withApp } from "./apps.mjs";

async function buildApp({ app, out }) {
  const performance = { hints: false }; // with models inside, a wasm file is a few KB past the 244 that webpack advises for any asset
  const options = {
    mode: "production",
    context: app,
    entry: join(app, "main.js"),
    output: { path: out, filename: "main.js" },
    performance,
  };
  const stats = await new Promise((resolve, reject) =>
    webpack(options, (error, result) => (error ? reject(error) : resolve(result))),
  );
  assert.deepEqual(stats.toJson({ all: false, errors: true, warnings: true }), { errors: [], warnings: [] });
  await addPage({ app, out });
}

test("webpack", async (t) => {
  await withBrowser("chromium", async (browser) => {
    const check = (title, entry, use) => t.test(title, () => withApp(entry, use));

    await check("the main entry", "plain", async (folders) => {
      await buildApp(folders);
      const { wasm, ...page } = await run(browser, folders.out);
      assert.deepEqual(page, { shown: BOTH_BUILDS, complaints: [] });
      assert.deepEqual(
        wasm,
        (await filesOf(folders.out)).filter((name) => name.endsWith(".wasm")),
      );
      assert.match(wasm.join(" "), /^[0-9a-f]{20}\.wasm [0-9a-f]{20}\.wasm$/);
    });

    await check("the inline entry", "inline", async (folders) => {
      await buildApp(folders);
      const { wasm, ...page } = await run(browser, folders.out);
      assert.deepEqual(page, { shown: BOTH_BUILDS, complaints: [] });
      assert.deepEqual(wasm, []);
      assert.doesNotMatch((await filesOf(folders.out)).join(" "), /\.wasm/);
    });

    await check("a worker", "in_worker", async (folders) => {
      await buildApp(folders);
      assert.deepEqual((await run(browser, folders.out)).shown, { worker: rotatedBy("simd") });
    });

    await check("a model in ropewalk's own Worker", "model_worker", async (folders) => {
      await buildApp(folders);
      assert.deepEqual((await run(browser, folders.out)).shown, { text: await generatedIn(folders.app) });
    });

    await check("the config readers alone bring no module", "config_only", async (folders) => {
      await buildApp(folders);
      const scripts = await scriptsOf(folders.out);
      assert.doesNotMatch(scripts, /instantiateWasm/);
      assert.ok(scripts.length < 50_000, `${scripts.length} bytes`);
      assert.deepEqual(await filesOf(folders.out), ["index.html", "main.js"]);
      assert.deepEqual(await run(browser, folders.out), { shown: { rope_theta: "1000000" }, complaints: [], wasm: [] });
    });
  });
});
