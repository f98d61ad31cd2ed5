// The Doctor's page in each browser: the worked example, the reader's own files, and files that can't be read. Needs the built site.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { BROWSERS, withBrowser } from "../browser/browsers.mjs";

let server, address;
before(async () => ({ server, address } = await serveSite(siteFolder)));
after(() => server.close());

async function openPage(page, parameters = "") {
  await page.goto(`${address}doctor/index.html${parameters}`);
  await page.waitForFunction(() => document.querySelector("#report").getAttribute("aria-busy") === "false");
}

const textOf = (page, selector) => page.$eval(selector, (element) => element.textContent.trim());
const verdictMatches = (page, words) =>
  page.waitForFunction((text) => document.querySelector("#verdict").textContent.includes(text), {}, words);

/** Chooses files as a user would: `files` is a list of [name, text]. */
const choose = (page, files) =>
  page.evaluate((given) => {
    const transfer = new DataTransfer();
    for (const [name, text] of given) transfer.items.add(new File([text], name));
    const input = document.querySelector("#files");
    input.files = transfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, files);

const tasks = {
  async "the worked example: Qwen2.5 at 100,000 tokens, with flags to copy"(page) {
    await openPage(page);
    assert.match(await textOf(page, "#verdict"), /^Needs YaRN: .* factor 4\.$/);
    assert.match(await textOf(page, ".block pre"), /--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768/);
    const labels = await page.$$eval(".block button", (buttons) => buttons.map((button) => button.ariaLabel ?? ""));
    assert.ok(labels.length >= 6);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    assert.ok(wide, "the page doesn't scroll sideways");
  },

  async "the model and the length are in the address"(page) {
    await openPage(page, "?doctor.example=llama-3.1-8b&doctor.length=4096");
    assert.match(await textOf(page, "#verdict"), /^Fits: made for 131,072 tokens with llama3 scaling from 8,192/);
  },

  async "a file of one's own, and one that can't be read"(page) {
    await openPage(page);
    const config = { model_type: "qwen2", hidden_size: 896, num_attention_heads: 14, max_position_embeddings: 50000 };
    await choose(page, [["config.json", JSON.stringify(config)]]);
    await verdictMatches(page, "made for 50,000 tokens");
    assert.equal(await page.$eval("#doctor [name=example]", (list) => list.value), "own");

    await choose(page, [["broken.json", "{"]]);
    await page.waitForFunction(() => !document.querySelector("#problem").hidden);
    assert.match(await textOf(page, "#problem"), /broken\.json/);
    assert.match(await textOf(page, "#verdict"), /made for 50,000 tokens/);

    await page.evaluate(() => {
      const form = document.querySelector("#by-text");
      form.elements.text.value = '{ "model_type": "gpt2", "n_positions": 1024 }';
      form.requestSubmit();
    });
    await verdictMatches(page, "learned positions");
    assert.ok(await page.$eval("#problem", (problem) => problem.hidden));
  },
};

for (const name of BROWSERS) {
  test(`the Doctor in ${name}`, async (t) => {
    await withBrowser(name, async (browser) => {
      const page = await browser.newPage();
      const errors = [];
      page.on("pageerror", (error) => errors.push(String(error)));
      for (const [title, task] of Object.entries(tasks)) await t.test(title, () => task(page));
      assert.deepEqual(errors, []);
    });
  });
}
