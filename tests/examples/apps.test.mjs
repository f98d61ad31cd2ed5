// The web apps of examples/, each built as its user builds it, and driven in Chromium under a strict policy. The search app has a test of its own.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";
import { root } from "../browser/tarball.mjs";
import { APP_CSP, withBuiltApp } from "./apps.mjs";

const TINY = join(root, "tests", "golden", "tiny_models");
const textOf = (page, selector) => page.$eval(selector, ({ textContent }) => textContent);

/** Builds an app and calls `use` with a page that shows it. The page must have no complaints. */
const inApp = (name, use) =>
  withBuiltApp(name, async (folder) => {
    const site = await serve({ "/": { folder, csp: APP_CSP } });
    try {
      await withBrowser("chromium", async (browser) => {
        const { page, complaints } = await open(browser, `${site.origin}/`);
        await use(page);
        assert.deepEqual(complaints, []);
      });
    } finally {
      await site.close();
    }
  });

test("the chat app answers, stops, goes on after a reload, and opens another model", () =>
  inApp("chat", async (page) => {
    const about = async () => {
      await page.waitForFunction(() => document.querySelector("output")?.textContent.includes("thread"));
      return textOf(page, "output");
    };
    const messages = () => page.$$eval("li", (items) => items.map((item) => [item.className, item.textContent]));
    const say = async (text) => {
      await page.type("form input", text);
      await page.keyboard.press("Enter");
    };
    const answered = async () => {
      await page.waitForFunction(() => document.querySelector("output").textContent.includes("thread"));
      return (await messages()).at(-1);
    };
    assert.match(await about(), /^model\.q8_0.*\.gguf, one thread: /);

    // the reader stops an answer when its first words are there
    await page.evaluate(() => {
      const observer = new MutationObserver(() => {
        if (!document.querySelector(".assistant")?.textContent) return;
        observer.disconnect();
        document.querySelector("main > form button").click();
      });
      observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    const told = "The red ball is in the garden.";
    await say(told);
    await page.waitForSelector(".assistant");
    const stopped = await answered();
    assert.equal(stopped[0], "assistant");

    await page.reload();
    assert.match(await about(), /, \d+ tokens kept$/);
    assert.deepEqual(await messages(), [["user", told], stopped]);
    await page.click("header button"); // a new chat: half a sentence of the stopped answer confuses this model
    await say(`${told} Where is the red ball?`);
    await page.waitForSelector("li.assistant");
    const [role, answer] = await answered();
    assert.equal(role, "assistant");
    assert.match(answer, /^The red ball is in the garden\./);
    assert.ok(stopped[1].length < answer.length);

    // a file that is no model
    await page.click("summary");
    const file = await page.$("[type=file]");
    await file.uploadFile(join(TINY, "llama", "config.json"));
    await page.waitForSelector("[role=alert]");
    assert.equal(await page.$eval("main > form button", ({ disabled }) => disabled), true);
  }));

test("the app with attention of its own finds what came next, and shows what a scaling does to it", () =>
  inApp("own_attention", async (page) => {
    const shown = async () => [await textOf(page, "#next"), await textOf(page, "#where")];
    await page.waitForFunction(() => document.getElementById("next").textContent !== "");
    const found = ["a (100 %)", "“c” looks mostly 1 back, with weight 100 %."];
    assert.deepEqual(await shown(), found);

    // fast pairs stay as they are under YaRN; linear scaling slows them, so that the head looks 8 times as far
    await page.click("[value=linear]");
    const [wrong, where] = await shown();
    assert.notEqual(wrong, found[0]);
    assert.equal(where, "“c” looks mostly 8 back, with weight 18 %.");
    await page.click("[value=yarn]");
    assert.deepEqual(await shown(), found);

    // letters typed after a retune
    await page.click("#text", { count: 3 });
    await page.type("#text", "xyz xy");
    assert.match((await shown())[0], /^z /);
    await page.click("#continue");
    assert.equal(await page.$eval("#text", ({ value }) => value), "xyz xyz");
    assert.match((await shown())[0], /^␣ /);
    await page.click("#second button:nth-child(5)");
    assert.match(await textOf(page, "#where"), /^“x” looks mostly 1 back/);
    await page.click("#text", { count: 3 });
    await page.keyboard.press("Backspace");
    assert.deepEqual(await shown(), ["", ""]);
  }));
