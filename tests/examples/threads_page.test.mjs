// The page that tells whether it can use threads, in each browser: before and after its service worker isolates it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "../../examples/serve.mjs";
import { BROWSERS, open, withBrowser } from "../browser/browsers.mjs";

for (const name of BROWSERS) {
  test(`the threads page, in ${name}`, async () => {
    const { server, address } = await serve(0);
    try {
      await withBrowser(name, (browser) => useThreadsPage(browser, new URL("../threads_page/", address).href));
    } finally {
      server.close();
    }
  });
}

async function useThreadsPage(browser, address) {
  const { page, complaints } = await open(browser, address);
  const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
  /** Waits until the page has loaded again, is or isn't isolated, and has measured. In between it can't be asked. */
  const isFinished = (isolated) => {
    const isMeasured = !document.querySelector("#speed").textContent.startsWith("Measuring");
    return crossOriginIsolated === isolated && (isMeasured || !document.querySelector("#problem").hidden);
  };
  const finished = async (isolated) => {
    for (const end = Date.now() + 25_000; Date.now() < end; await sleep(200)) {
      if (await page.evaluate(isFinished, isolated).catch(() => false)) return;
    }
    assert.fail(`the page isn't ready: ${await textOf("#answer")}`);
  };
  const cores = await page.evaluate(() => navigator.hardwareConcurrency);
  const auto = cores <= 4 ? cores : Math.min(8, Math.max(4, cores >> 1));

  await finished(false);
  assert.equal(await textOf("#answer"), "No: Ropewalk uses one thread.");
  assert.match(await textOf("#facts"), /isolated bynothing/);

  await page.click("#isolate");
  await finished(true);
  assert.match(await textOf("#facts"), /isolated bythe service worker of this page/);
  assert.equal(await textOf("#answer"), `Yes: Ropewalk uses ${auto} threads.`);
  assert.match(await textOf("#speed"), new RegExp(`^${auto} threads are \\d+\\.\\d times as fast as one`));
  assert.equal(await page.$$eval("#times tbody tr", (rows) => rows.length), auto <= 2 ? auto : auto <= 4 ? 3 : 4);

  await page.click("#release");
  await finished(false);
  assert.deepEqual(complaints, []);
}
