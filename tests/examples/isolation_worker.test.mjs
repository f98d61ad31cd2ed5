// The service worker of docs/threads.md: a page on a host without headers isolates itself with it, in each browser.
import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { serveSite } from "../../scripts/site/serve.mjs";
import { BROWSERS, open, withBrowser } from "../browser/browsers.mjs";
import { read, root } from "./guide_page.mjs";

/** The lines of the guide that register it. */
async function registration() {
  const lines = (await read("docs/threads.md")).split("\n");
  const first = lines.findIndex((line) => line.startsWith("    if (!crossOriginIsolated"));
  const last = lines.indexOf("    }", first);
  assert.ok(first > 0 && last > first);
  return lines.slice(first, last + 1).join("\n");
}

for (const name of BROWSERS) {
  test(`a page isolates itself, in ${name}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "ropewalk-isolation-"));
    await cp(join(root, "examples", "isolation_worker.js"), join(folder, "isolation_worker.js"));
    await writeFile(join(folder, "page.js"), await registration());
    await writeFile(
      join(folder, "index.html"),
      '<!doctype html><title>A page</title><link rel="icon" href="data:," /><script type="module" src="page.js"></script>',
    );
    const { server, address } = await serveSite(folder);
    try {
      await withBrowser(name, async (browser) => {
        const { page, complaints } = await open(browser, address);
        // in between the page loads again, and can't be asked
        const isIsolated = () => page.evaluate(() => crossOriginIsolated).catch(() => false);
        for (const end = Date.now() + 20_000; !(await isIsolated()) && Date.now() < end;) await sleep(200);
        assert.equal(await isIsolated(), true);
        assert.deepEqual(complaints, []);
      });
    } finally {
      server.close();
      await rm(folder, { recursive: true });
    }
  });
}
