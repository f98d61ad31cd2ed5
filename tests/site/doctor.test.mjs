// The Doctor's page in each browser: the worked example, the reader's own files, and files that can't be read. Needs the built site.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { serveSite } from "../../scripts/site/serve.mjs";
import { siteFolder } from "../../scripts/site.mjs";
import { SITE_BROWSERS, inOwnPage, withBrowser } from "../browser/browsers.mjs";

let server, address, files;
before(async () => {
  ({ server, address } = await serveSite(siteFolder));
  files = createServer(({ url }, response) => {
    const found = url === "/qwen/config.json";
    const headers = { "access-control-allow-origin": "*", "content-type": "application/json" };
    response.writeHead(found ? 200 : 404, headers).end(found ? JSON.stringify(qwen) : "");
  });
  await new Promise((resolve) => files.listen(0, "127.0.0.1", resolve));
});
after(() => {
  server.close();
  files.close();
});

const qwen = { model_type: "qwen2", hidden_size: 896, num_attention_heads: 14, max_position_embeddings: 50000 };
const fileAddress = (path) => `http://127.0.0.1:${files.address().port}${path}`;

async function openPage(page, parameters = "") {
  await page.goto(`${address}doctor/index.html${parameters}`);
  await page.waitForFunction(() => document.querySelector("#report").getAttribute("aria-busy") === "false");
}

const textOf = (page, selector) => page.$eval(selector, (element) => element.textContent.trim());
const verdictMatches = (page, words) =>
  page.waitForFunction((text) => document.querySelector("#verdict").textContent.includes(text), {}, words);

const problemMatches = (page, words) =>
  page.waitForFunction(
    (text) => {
      const problem = document.querySelector("#problem");
      return !problem.hidden && problem.textContent.includes(text);
    },
    {},
    words,
  );
const fill = (page, form, name, value) =>
  page.evaluate(
    (form, name, value) => {
      const control = document.querySelector(form).elements.namedItem(name);
      control.value = value;
      control.dispatchEvent(new Event("input", { bubbles: true }));
      if (form !== "#doctor") document.querySelector(form).requestSubmit();
    },
    form,
    name,
    value,
  );

const addressOf = (page) => page.evaluate(() => location.href);

/** Opens the page's own address anew, as a link. */
async function reopen(page) {
  const link = await addressOf(page);
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForFunction(() => document.querySelector("#report").getAttribute("aria-busy") === "false");
}

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
    assert.equal(await textOf(page, "#support"), "Ropewalk runs qwen2.");
    assert.equal(await textOf(page, "#length-read"), "100,000 tokens");
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
    await choose(page, [["config.json", JSON.stringify(qwen)]]);
    await verdictMatches(page, "made for 50,000 tokens");
    assert.equal(await page.$eval("#doctor [name=example]", (list) => list.value), "own");

    await choose(page, [["broken.json", "{"]]);
    await problemMatches(page, "broken.json isn't a config.json: it can't be read as JSON");
    assert.ok(await page.$eval("#report", (report) => report.hidden), "no report below a failure");
    assert.equal(await textOf(page, "#back"), "Back to config.json (qwen2)");
    await page.click("#back");
    await page.waitForFunction(() => !document.querySelector("#report").hidden);
    assert.match(await textOf(page, "#verdict"), /made for 50,000 tokens/);

    await fill(page, "#by-text", "text", '{ "model_type": "gpt2", "n_positions": 1024 }');
    await verdictMatches(page, "learned positions");
    assert.equal(await textOf(page, "#support"), "Ropewalk runs gpt2.");
    await fill(page, "#by-text", "text", '{ "model_type": "opt", "max_position_embeddings": 1024 }');
    await page.waitForFunction(() => document.querySelector("#support").textContent.includes("opt"));
    assert.match(await textOf(page, "#support"), /^Ropewalk can't run it: architecture opt is not supported/);
    assert.ok(await page.$eval("#problem", (problem) => problem.hidden));
  },

  async "errors are sentences, with what to do"(page) {
    await openPage(page);
    for (const [name, text, words] of [
      ["notes.txt", "hello", "notes.txt isn't a model file. Files that can be read are config.json, .gguf and"],
      ["model.safetensors", "\x02\0\0\0\0\0\0\0{}", "needs the config.json of its folder"],
      ["model.gguf", "GGUF\x03", "model.gguf is damaged"],
      ["photo.gguf", "\x7f\x45\x4c\x46\0\0\0\0", "photo.gguf doesn't begin with GGUF"],
    ]) {
      await choose(page, [[name, text]]);
      await problemMatches(page, words);
    }
    await fill(page, "#by-text", "text", "model_type: qwen2");
    await problemMatches(page, "The pasted text isn't a config.json: it can't be read as JSON");
    await fill(page, "#by-address", "address", fileAddress("/nothing/"));
    await problemMatches(page, "There is no model file at");
    await fill(page, "#by-address", "address", "hello");
    await problemMatches(page, "owner/name");
  },

  async "a length as people write it, and what isn't one: at its field"(page) {
    await openPage(page);
    const readAs = (words) =>
      page.waitForFunction((text) => document.querySelector("#length-read").textContent === text, {}, words);
    for (const [text, tokens] of [
      ["60,000", "60,000"],
      ["128K", "131,072"],
      ["100k", "100,000"],
      ["5e4", "50,000"],
      ["200 000", "200,000"],
    ]) {
      await fill(page, "#doctor", "length", text);
      await readAs(`${tokens} tokens`);
      await verdictMatches(page, `you ask for ${tokens}.`);
    }
    const isWrong = () => page.$eval("#doctor [name=length]", ({ ariaInvalid }) => ariaInvalid ?? "");
    for (const text of ["100.000", "many", "-5"]) {
      await fill(page, "#doctor", "length", text);
      await readAs("Not a number of tokens. Write 100,000, 100k or 128K.");
    }
    for (const text of ["0", "2G"]) {
      await fill(page, "#doctor", "length", text);
      await readAs("From 1 to 1,073,741,824 tokens, please.");
    }
    assert.equal(await isWrong(), "true");
    assert.match(await textOf(page, "#verdict"), /you ask for 200,000/);
    await fill(page, "#doctor", "length", "1k");
    await readAs("1,000 tokens");
    await verdictMatches(page, "you ask for 1,000.");
    assert.equal(await isWrong(), "false");
  },

  async "at 1440 × 900 the whole answer is in sight: verdict, memory, and the lines of llama.cpp and vLLM"(page) {
    await page.setViewport({ width: 1440, height: 900 });
    try {
      await openPage(page);
      const bottoms = await page.evaluate(() => {
        const bottom = (element) => Math.round(element.getBoundingClientRect().bottom);
        const blocks = [...document.querySelectorAll(".block")].filter((block) => block.checkVisibility());
        return {
          titles: blocks.map((block) => block.querySelector("h4").textContent),
          lines: blocks.map((block) => bottom(block.querySelector("pre"))),
          verdict: bottom(document.querySelector("#verdict")),
          memory: bottom(document.querySelector("#memory")),
        };
      });
      assert.deepEqual(bottoms.titles, ["llama.cpp", "vLLM"]);
      for (const bottom of [...bottoms.lines, bottoms.verdict, bottoms.memory]) assert.ok(bottom > 0 && bottom <= 900);
      assert.match(
        await textOf(page, "#memory"),
        /100,000 tokens.*Q4_K_M4\.34 GiB9\.68 GiB.*5\.34 GiB in f16.*7,615,616,512/s,
      );
    } finally {
      await page.setViewport({ width: 1280, height: 800 });
    }
  },

  async "tabs of systems, by arrow keys"(page) {
    await openPage(page);
    const open = () =>
      page.$$eval(".block", (blocks) =>
        blocks.filter((one) => one.checkVisibility()).map((one) => one.querySelector("h4").textContent),
      );
    const press = (key) =>
      page.evaluate((key) => {
        const selected = document.querySelector("[role=tab][aria-selected=true]");
        selected.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        return document.activeElement === document.querySelector("[role=tab][aria-selected=true]");
      }, key);
    assert.ok(await press("ArrowRight"));
    assert.ok((await open()).every((title) => title.startsWith("transformers")));
    assert.ok(await press("End"));
    const ropewalk = ["Ropewalk", "Ropewalk, command line", "Ropewalk, with a position map instead"];
    assert.deepEqual(await open(), ropewalk);
    assert.ok(await press("ArrowRight"));
    assert.deepEqual(await open(), ["llama.cpp", "vLLM"]);
    assert.ok(await press("ArrowLeft"));
    await fill(page, "#doctor", "length", "60k");
    await verdictMatches(page, "you ask for 60,000.");
    assert.deepEqual(await open(), ropewalk, "the tab stays for the next report");
  },

  async "on a phone, verdict and memory follow the controls"(page) {
    await page.setViewport({ width: 390, height: 844 });
    try {
      await openPage(page);
      const tops = await page.evaluate(() =>
        ["#drop", "#verdict", "#memory", "#lines", "#parts"].map(
          (id) => document.querySelector(id).getBoundingClientRect().top,
        ),
      );
      assert.deepEqual(
        [...tops].sort((a, b) => a - b),
        tops,
      );
      assert.ok(tops[1] < 844);
    } finally {
      await page.setViewport({ width: 1280, height: 800 });
    }
  },

  async "links to a text and to an address show the same report; a file isn't in a link"(page) {
    await openPage(page, "?doctor.example=llama-3.1-8b&doctor.length=60000");
    await fill(page, "#by-text", "text", JSON.stringify(qwen, null, 2));
    await verdictMatches(page, "made for 50,000 tokens, you ask for 60,000");
    assert.match(await addressOf(page), /doctor\.length=60000.*#config=/);
    assert.doesNotMatch(await addressOf(page), /example/);
    await reopen(page);
    assert.match(await textOf(page, "#verdict"), /made for 50,000 tokens, you ask for 60,000/);

    await fill(page, "#by-address", "address", fileAddress("/qwen/"));
    await page.waitForFunction(() => location.search.includes("address"));
    await verdictMatches(page, "made for 50,000 tokens");
    assert.doesNotMatch(await addressOf(page), /config=/);
    await reopen(page);
    assert.match(await textOf(page, "#verdict"), /made for 50,000 tokens, you ask for 60,000/);

    await choose(page, [
      ["config.json", JSON.stringify(qwen)],
      ["README.md", ""],
    ]);
    await page.waitForFunction(() => location.search.includes("file="));
    assert.doesNotMatch(await addressOf(page), /address|example/);
    assert.ok(await page.$eval("#not-linked", (note) => !note.hidden));
    await reopen(page);
    assert.match(await textOf(page, "#problem"), /This link is about a file, config\.json, README\.md/);
    assert.ok(await page.$eval("#report", (report) => report.hidden));
  },

  async "on a phone, the answer to what was opened is in view"(page) {
    await page.setViewport({ width: 360, height: 640 });
    try {
      await openPage(page);
      await fill(page, "#by-text", "text", JSON.stringify(qwen));
      await verdictMatches(page, "made for 50,000 tokens");
      await page.waitForFunction(() => {
        const { top, bottom } = document.querySelector("#verdict").getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      });
    } finally {
      await page.setViewport({ width: 1280, height: 800 });
    }
  },

  async "a name on Hugging Face is an address"(page) {
    await openPage(page);
    await fill(page, "#by-address", "address", "owner-of/nothing-1.5");
    await page.waitForFunction(() => location.search.includes("address"));
    const { searchParams } = new URL(await addressOf(page));
    assert.equal(searchParams.get("doctor.address"), "https://huggingface.co/owner-of/nothing-1.5/resolve/main/");
  },

  async "a config without its length: a field asks for it, and then there are lines to paste"(page) {
    await openPage(page);
    const { max_position_embeddings: _, ...config } = qwen;
    await fill(page, "#by-text", "text", JSON.stringify(config));
    await verdictMatches(page, "doesn't say how many tokens the model was trained on");
    assert.equal(await page.$$eval(".block", (blocks) => blocks.length), 0);
    assert.ok(await page.$eval("#trained", (field) => field.getBoundingClientRect().height > 0));
    await fill(page, "#doctor", "trained", "32768");
    await verdictMatches(page, "Needs YaRN: made for 32,768 tokens");
    assert.ok((await page.$$eval(".block", (blocks) => blocks.length)) >= 6);
    await fill(page, "#doctor", "length", "");
    await verdictMatches(page, "You gave no length");
  },
};

for (const name of SITE_BROWSERS) {
  test(`the Doctor in ${name}`, async (t) => {
    await withBrowser(name, async (browser) => {
      for (const [title, task] of Object.entries(tasks)) await t.test(title, () => inOwnPage(browser, task));
    });
  });
}
