// Models by name in a page: across origins, with a token that stays with the Hub, and kept on the device.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serveHub, TOKEN } from "../files/hub.mjs";
import { BROWSERS, hasOpfs, open, withBrowser } from "./browsers.mjs";
import { serve } from "./server.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";

const name = "org/stories";
const csp = "object-src 'none'";
let site, folder;

before(async () => {
  folder = await makeFolder();
  site = await serve({
    "/pages/": { folder: join(root, "tests", "browser", "pages"), csp },
    "/package/": { folder: await unpackPackage(folder), csp },
  });
});
after(async () => {
  await site?.close();
  await removeFolder(folder);
});

for (const browserName of BROWSERS)
  test(`models by name, in ${browserName}`, async (t) => {
    const files = {};
    for (const file of ["config.json", "tokenizer.json", "model.safetensors"])
      files[file] = await readFile(join(root, "examples", "small_model", file));
    const hub = await serveHub(t, { [name]: { files, gated: "auto" } });
    await withBrowser(browserName, async (browser) => {
      const { page } = await open(browser, `${site.origin}/pages/model/index.html`);
      const { gated, text, chosen, kept, left } = await page.evaluate(useName, site.origin, hub.url, name, TOKEN);
      assert.match(gated, /the model is gated; accept its licence/);
      assert.equal(text, " garden.");
      assert.equal(chosen, "model.safetensors");
      const source = `${hub.url}/${name}/resolve/main/model.safetensors`;
      if (hasOpfs(browserName)) assert.deepEqual(kept, [source]);
      assert.deepEqual(left, []);
      await page.close();
    });
    const toStorage = hub.requests.filter(({ host }) => host === "localhost");
    assert.ok(toStorage.length > 0 && toStorage.every(({ token }) => token === undefined));
  });

async function useName(origin, hub, name, token) {
  const { load } = await import(`${origin}/package/dist/worker.js`);
  const rw = await load();
  const options = { hub, cache: "browser", retries: 0 };
  const gated = await rw.model(name, options).catch(({ message }) => message);
  const model = await rw.model(name, { ...options, token });
  const prompt = "The red ball is in the garden. Where is the red ball? The red ball is in the";
  let text = "";
  for await (const piece of model.generate(prompt, { maxTokens: 2, temperature: 0 })) text += piece.text;
  const chosen = model.info.hub.file;
  const kept = (await rw.cachedModels()).map(({ source }) => source);
  await rw.deleteCachedModel(name);
  const left = await rw.cachedModels();
  await rw.dispose();
  return { gated, text, chosen, kept, left };
}
