// Vite: nothing to set, for a build or for the development server; `optimizeDeps: { exclude: ["ropewalk"] }`, which Vite before 8 needs,
// does no harm.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build, createServer } from "vite";
import { withBrowser } from "../browser/browsers.mjs";
import { BOTH_BUILDS, filesOf, generatedIn, read, rotatedBy, run, scriptsOf, withApp } from "./apps.mjs";

const buildApp = ({ app, out }) => build({ root: app, configFile: false, logLevel: "error", build: { outDir: out } });

/** Reads off what the development server's app shows. */
async function develop(browser, app, settings) {
  const server = await createServer({
    root: app,
    configFile: false,
    logLevel: "silent",
    server: { host: "localhost" },
    ...settings,
  });
  try {
    await server.listen();
    return await read(browser, server.resolvedUrls.local[0]);
  } finally {
    await server.close();
  }
}

test("vite", async (t) => {
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
      assert.match(wasm.join(" "), /^assets\/ropewalk-[\w-]{8}\.wasm assets\/ropewalk\.relaxed-[\w-]{8}\.wasm$/);
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
      assert.deepEqual(await run(browser, folders.out), { shown: { rope_theta: "1000000" }, complaints: [], wasm: [] });
    });

    for (const optimizeDeps of [{}, { exclude: ["ropewalk"] }]) {
      await check(`the development server, optimizeDeps ${JSON.stringify(optimizeDeps)}`, "plain", async ({ app }) => {
        const { shown } = await develop(browser, app, { optimizeDeps });
        assert.deepEqual(shown, BOTH_BUILDS);
      });
    }

    for (const optimizeDeps of [{}, { exclude: ["ropewalk"] }]) {
      await check(
        `the development server with a model in the Worker, optimizeDeps ${JSON.stringify(optimizeDeps)}`,
        "model_worker",
        async ({ app }) => {
          const { shown } = await develop(browser, app, { optimizeDeps });
          assert.deepEqual(shown, { text: await generatedIn(app) });
        },
      );
    }

    await check("the development server with the inline entry", "inline", async ({ app }) => {
      const { shown } = await develop(browser, app, {});
      assert.deepEqual(shown, BOTH_BUILDS);
    });
  });
});
