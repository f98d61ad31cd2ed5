// esbuild leaves `new URL(…, import.meta.url)` as it is. Three ways that work: copy the wasm files to wasm/ beside the bundle; import
// the wasm with the `file` loader and hand its address to load(); or take ropewalk/inline.
import assert from "node:assert/strict";
import { build } from "esbuild";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { withBrowser } from "../browser/browsers.mjs";
import { addPage, BOTH_BUILDS, filesOf, generatedIn, rotatedBy, run, scriptsOf, withApp } from "./apps.mjs";

async function buildApp({ app, out }, settings = {}) {
  const options = {
    absWorkingDir: app,
    entryPoints: ["main.js"],
    outdir: out,
    bundle: true,
    minify: true,
    format: "esm",
    logLevel: "silent",
  };
  const { warnings } = await build({ ...options, ...settings });
  await addPage({ app, out });
  return warnings.map(({ text }) => text);
}

/** What an app's build script does after esbuild. */
async function copyWasm({ app, out }) {
  for (const name of ["ropewalk.wasm", "ropewalk.relaxed.wasm"]) {
    await cp(join(app, "node_modules", "ropewalk", "dist", "wasm", name), join(out, "wasm", name));
  }
}

test("esbuild", async (t) => {
  await withBrowser("chromium", async (browser) => {
    const check = (title, entry, use) => t.test(title, () => withApp(entry, use));

    for (const splitting of [false, true]) {
      await check(
        `the main entry, with the wasm copied to wasm/${splitting ? ", in chunks" : ""}`,
        "plain",
        async (folders) => {
          assert.deepEqual(await buildApp(folders, { splitting }), []);
          await copyWasm(folders);
          const { wasm, ...page } = await run(browser, folders.out);
          assert.deepEqual(page, { shown: BOTH_BUILDS, complaints: [] });
          assert.deepEqual(wasm, ["wasm/ropewalk.relaxed.wasm", "wasm/ropewalk.wasm"]);
        },
      );
    }

    await check("the wasm imported with the file loader", "own_address", async (folders) => {
      assert.deepEqual(await buildApp(folders, { loader: { ".wasm": "file" } }), []);
      const { wasm, ...page } = await run(browser, folders.out);
      assert.deepEqual(page, { shown: { simd: rotatedBy("simd") }, complaints: [] });
      assert.match(wasm.join(" "), /^ropewalk-[0-9A-Z]{8}\.wasm$/);
    });

    await check("the inline entry", "inline", async (folders) => {
      assert.deepEqual(await buildApp(folders), []);
      assert.deepEqual(await filesOf(folders.out), ["index.html", "main.js"]);
      const { wasm, ...page } = await run(browser, folders.out);
      assert.deepEqual(page, { shown: BOTH_BUILDS, complaints: [] });
      assert.deepEqual(wasm, []);
    });

    await check("the inline entry in a script that is no module", "inline", async (folders) => {
      assert.deepEqual(await buildApp(folders, { format: "iife" }), []);
      const { wasm, ...page } = await run(browser, folders.out);
      assert.deepEqual(page, { shown: BOTH_BUILDS, complaints: [] });
    });

    await check("a worker as a second entry point", "in_worker", async (folders) => {
      await buildApp(folders, { entryPoints: ["main.js", "worker.js"] });
      await copyWasm(folders);
      assert.deepEqual((await run(browser, folders.out)).shown, { worker: rotatedBy("simd") });
    });

    for (const splitting of [false, true]) {
      await check(
        `a model in ropewalk's own Worker, whose file is a second entry point${splitting ? ", in chunks" : ""}`,
        "model_worker",
        async (folders) => {
          const thread = join(folders.app, "node_modules", "ropewalk", "dist", "worker_thread.js");
          await buildApp(folders, {
            entryPoints: [
              { in: "main.js", out: "main" },
              { in: thread, out: "worker_thread" },
            ],
            splitting,
          });
          await copyWasm(folders);
          assert.deepEqual((await run(browser, folders.out)).shown, { text: await generatedIn(folders.app) });
        },
      );
    }

    await check("the config readers alone bring no module", "config_only", async (folders) => {
      await buildApp(folders);
      const scripts = await scriptsOf(folders.out);
      assert.doesNotMatch(scripts, /instantiateWasm/);
      assert.ok(scripts.length < 50_000, `${scripts.length} bytes`);
      assert.deepEqual(await run(browser, folders.out), { shown: { rope_theta: "1000000" }, complaints: [], wasm: [] });
    });
  });
});
