// Kept sessions in a page: written to OPFS by a Worker, and by the page where the engine lets it, and opened after a reload.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { BROWSERS, hasOpfs, open, withBrowser } from "./browsers.mjs";
import { serve } from "./server.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";

const csp = "object-src 'none'";
let site, folder;

before(async () => {
  folder = await makeFolder();
  site = await serve({
    "/pages/": { folder: join(root, "tests", "browser", "pages"), csp },
    "/package/": { folder: await unpackPackage(folder), csp },
    "/models/": { folder: join(root, "tests", "golden", "tiny_models"), csp },
  });
});
after(async () => {
  await site?.close();
  await removeFolder(folder);
});

for (const name of BROWSERS)
  test(`kept sessions, in ${name}`, () =>
    withBrowser(name, async (browser) => {
      const { page } = await open(browser, `${site.origin}/pages/model/index.html`);
      for (const entry of ["worker", "index"]) {
        const run = (use) => page.evaluate(use, site.origin, entry);
        const kept = await run(keep);
        assert.deepEqual(kept.badName, ["INVALID_ARGUMENT", "name"]);
        if (!hasOpfs(name)) {
          assert.deepEqual(kept.failed, ["INVALID_FILE", "name"]);
          continue;
        }
        if (entry === "index" && kept.failed?.[0] === "INVALID_FILE") continue; // Safari before 26 writes OPFS only in Workers
        assert.equal(kept.failed, undefined);
        await page.reload();
        const opened = await run(openKept);
        assert.deepEqual(opened.logits, kept.logits);
        assert.deepEqual(opened.names, ["notes"]);
        assert.deepEqual(opened.missing, ["INVALID_FILE", "name"]);
      }
      await page.close();
    }));

async function keep(origin, entry) {
  const { load } = await import(`${origin}/package/dist/${entry}.js`);
  const rw = await load();
  const model = await rw.model(`${origin}/models/llama/model.gguf`);
  const session = await model.session();
  await session.append([3, 14, 15, 9, 26]);
  const refused = (promise) =>
    promise.then(
      () => undefined,
      ({ code, field }) => [code, field],
    );
  const badName = await refused(session.keep("../notes"));
  const failed = await refused(session.keep("notes"));
  await session.append([5]);
  return { logits: [...(await session.logits())], badName, failed };
}

async function openKept(origin, entry) {
  const { load } = await import(`${origin}/package/dist/${entry}.js`);
  const rw = await load();
  const model = await rw.model(`${origin}/models/llama/model.gguf`);
  const session = await model.openSession("notes");
  await session.append([5]);
  const missing = await model.openSession("none").catch(({ code, field }) => [code, field]);
  const kept = await (await navigator.storage.getDirectory()).getDirectoryHandle("ropewalk-sessions");
  const names = [];
  for await (const name of kept.keys()) names.push(name);
  await kept.removeEntry("notes");
  return { logits: [...(await session.logits())], missing, names };
}
