// Rollup: @rollup/plugin-node-resolve finds the package, @web/rollup-plugin-import-meta-assets ships the wasm.
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { importMetaAssets } from "@web/rollup-plugin-import-meta-assets";
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { rollup } from "rollup";
import { withBrowser } from "../browser/browsers.mjs";
import { addPage, BOTH_BUILDS, filesOf, generatedIn, rotatedBy, run, scriptsOf, withApp } from "./apps.mjs";

async function buildApp({ app, out }, plugins, others = {}) {
  const warnings = [];
  const bundle = await rollup({
    input: { main: join(app, "main.js"), ...others },
    plugins,
    onwarn: ({ message }) => warnings.push(message),
  });
  await bundle.write({ dir: out, format: "es" });
  await bundle.close();
  assert.deepEqual(warnings, []);
  await addPage({ app, out });
}

test("rollup", async (t) => {
  await withBrowser("chromium", async (browser) => {
    const check = (title, entry, use) => t.test(title, () => withApp(entry, use));

    await check("the main entry", "plain", async (folders) => {
      await buildApp(folders, [nodeResolve(), importMetaAssets()]);
      const { wasm, ...page } = await run(browser, folders.out);
      assert.deepEqual(page, { shown: BOTH_BUILDS, complaints: [] });
      assert.deepEqual(
        wasm,
        (await filesOf(folders.out)).filter((name) => name.endsWith(".wasm")),
      );
      assert.match(wasm.join(" "), /^assets\/ropewalk-[\w-]{8}\.wasm assets\/ropewalk\.relaxed-[\w-]{8}\.wasm$/);
    });

    await check("the inline entry needs no plugin for assets", "inline", async (folders) => {
      await buildApp(folders, [nodeResolve()]);
      const { wasm, ...page } = await run(browser, folders.out);
      assert.deepEqual(page, { shown: BOTH_BUILDS, complaints: [] });
      assert.deepEqual(wasm, []);
      assert.doesNotMatch((await filesOf(folders.out)).join(" "), /\.wasm/);
    });

    await check("a model in ropewalk's own Worker, whose file is a second input", "model_worker", async (folders) => {
      const dist = join(folders.app, "node_modules", "ropewalk", "dist");
      const assets = importMetaAssets({ exclude: join(dist, "worker.js") });
      await buildApp(folders, [nodeResolve(), assets], { worker_thread: join(dist, "worker_thread.js") });
      assert.deepEqual((await run(browser, folders.out)).shown, { text: await generatedIn(folders.app) });
    });

    await check("the config readers alone bring no module", "config_only", async (folders) => {
      await buildApp(folders, [nodeResolve()]);
      const scripts = await scriptsOf(folders.out);
      assert.doesNotMatch(scripts, /instantiateWasm/);
      assert.ok(scripts.length < 50_000, `${scripts.length} bytes`);
      assert.deepEqual(await run(browser, folders.out), { shown: { rope_theta: "1000000" }, complaints: [], wasm: [] });
    });
  });
});
