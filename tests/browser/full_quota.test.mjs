// Downloads and sessions kept in Chromium when the origin's quota is exceeded: what counts as kept is there, whole, and nothing else stays.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { open, withBrowser } from "./browsers.mjs";
import { serve } from "./server.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";

let site, folder;

before(async () => {
  folder = await makeFolder();
  site = await serve({
    "/pages/": { folder: join(root, "tests", "browser", "pages") },
    "/package/": { folder: await unpackPackage(folder) },
    "/models/": { folder: join(root, "tests", "golden", "tiny_models") },
  });
});
after(async () => {
  await site?.close();
  await removeFolder(folder);
});

test("a quota that is exceeded, in chromium", () =>
  withBrowser("chromium", async (browser) => {
    const { page } = await open(browser, `${site.origin}/pages/model/index.html`);
    const client = await page.createCDPSession();
    const setQuota = (quotaSize) =>
      client.send("Storage.overrideQuotaForOrigin", {
        origin: site.origin,
        ...(quotaSize !== undefined && { quotaSize }),
      });
    for (const entry of ["worker", "index"])
      for (const cache of ["opfs", "cache"]) {
        const model = await page.evaluate(keep, entry, cache);
        assert.deepEqual(model.warnings, []);
        assert.equal(model.listed, model.size);
        for (const part of [0, 0.01, 0.5, 0.9, 1]) {
          await page.evaluate(clear);
          await setQuota(1 + Math.floor(part * model.size)); // 0 is none
          const full = await page.evaluate(keep, entry, cache);
          const message = `${entry}, ${cache}, ${part}: ${JSON.stringify(full)}`;
          assert.equal(full.token, model.token, message);
          assert.equal(full.listed, 0, message);
          assert.ok(full.warnings.length === 1 && /not cached.*[Qq]uota/.test(full.warnings[0]), message);
          assert.deepEqual(
            full.files.filter((name) => /incomplete|:0$|-0:/.test(name)),
            [],
            message,
          );
          const isKept = full.files.some((name) => /^notes:\d{3}/.test(name)); // a session is small
          if (cache === "opfs") assert.equal(isKept, part > 0.02, message);
          assert.deepEqual(full.keeping, isKept ? [] : ["INVALID_FILE", "name", "INVALID_FILE", "name"], message);
        }
        await setQuota();
        const again = await page.evaluate(keep, entry, cache);
        assert.deepEqual([again.warnings, again.listed, again.token, again.keeping], [[], model.size, model.token, []]);
        await setQuota(1); // what is kept can still be read
        const kept = await page.evaluate(keep, entry, cache);
        assert.deepEqual([kept.warnings, kept.listed, kept.token], [[], model.size, model.token]);
        await setQuota();
        await page.evaluate(clear);
      }
    await page.close();
  }));

/** In a page: loads a model that is kept, and keeps a session. Returns the files of OPFS with their sizes. */
async function keep(entry, cache) {
  const { load } = await import(`/package/dist/${entry}.js`);
  const rw = await load();
  const warnings = [];
  const model = await rw.model("/models/llama/model.gguf", { cache, onWarning: (text) => warnings.push(text) });
  const session = await model.session();
  await session.append([3, 14, 15]);
  const tokens = [];
  for await (const { token } of session.generate({ maxTokens: 3, temperature: 0 })) tokens.push(token);
  const keeping = [];
  const refused = ({ code, field }) => keeping.push(code, field);
  await session.keep("notes").catch(refused);
  await model.openSession("notes").catch(refused);
  const listed = (await rw.cachedModels()).find((one) => one.cache === cache)?.bytes ?? 0;
  const { size } = await (await fetch("/models/llama/model.gguf")).blob();
  const root = await navigator.storage.getDirectory();
  const files = [];
  for await (const folder of root.values())
    for await (const file of folder.values()) files.push(`${file.name}:${(await file.getFile()).size}`);
  await rw.dispose?.();
  return { warnings, listed, size, token: tokens.join(), files, keeping };
}

/** In a page: removes all that is kept. */
async function clear() {
  const root = await navigator.storage.getDirectory();
  for await (const name of root.keys()) await root.removeEntry(name, { recursive: true });
  for (const name of await caches.keys()) await caches.delete(name);
}
