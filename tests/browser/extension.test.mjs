// An extension of Manifest V3 in Chromium: its page, its Worker and its service worker run a model that the extension brings.
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withBrowser } from "./browsers.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";

test("an extension runs a model", async () => {
  const folder = await makeFolder();
  try {
    await unpackPackage(folder);
    const extension = join(folder, "extension");
    await cp(join(root, "tests", "browser", "pages", "extension"), extension, { recursive: true });
    await cp(join(folder, "package"), join(extension, "package"), { recursive: true });
    await cp(join(root, "examples", "small_model", "model.q8_0.gguf"), join(extension, "model.gguf"));
    const useExtension = async (browser) => {
      const target = await browser.waitForTarget((one) => one.type() === "service_worker");
      const worker = await target.worker();
      while (!(await worker.evaluate(() => "tell" in globalThis))) await sleep(50);
      const told = await worker.evaluate(() => globalThis.tell());
      assert.match(told, /^ [a-z]+\. [A-Z]/);
      const page = await browser.newPage();
      await page.goto(new URL("page.html", target.url()).href);
      assert.deepEqual(await page.evaluate(() => globalThis.told), [told, told]);
    };
    await withBrowser("chromium", useExtension, { extension });
  } finally {
    await removeFolder(folder);
  }
});
