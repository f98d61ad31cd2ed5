// The page of models in each browser: chat, a switch of the scaling, wrong files, downloads, perplexity, and the next token.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { load } from "ropewalk";
import { SITE_BROWSERS, hasNarrowWindow, open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";
import { typed, writeGguf } from "../files/gguf_writer.mjs";

const root = join(import.meta.dirname, "..", "..");
const tinyModels = join(root, "tests", "golden", "tiny_models");
const encoder = join(root, "examples", "small_encoder");
const TIMEOUT_MS = 60_000;

let site, folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "ropewalk-models-"));
  await writeGguf(join(folder, "large.gguf"), largeModel());
  site = await serve({
    "/": { folder: join(root, "build", "site"), csp: "object-src 'none'" },
    "/tiny/": { folder: tinyModels },
    "/encoder/": { folder: encoder },
    "/large/": { folder },
  });
});
after(async () => {
  await site?.close();
  await rm(folder, { recursive: true });
});

for (const name of SITE_BROWSERS)
  test(`models, in ${name}`, (t) => withBrowser(name, (browser) => useModels(t, browser, name)));

/** A Llama model of one layer and 40 MB, all zeros, without a tokenizer. */
function largeModel() {
  const [hidden, vocabulary] = [512, 16384];
  const zeros = function* () {
    for (let i = 0; i < 32; i++) yield new Uint8Array((hidden * vocabulary * 4) / 32);
  };
  const tensor = (name, ...shape) => ({ name, type: "f32", shape });
  return {
    metadata: {
      "general.architecture": "llama",
      "llama.block_count": 1,
      "llama.context_length": 64,
      "llama.embedding_length": hidden,
      "llama.feed_forward_length": 64,
      "llama.attention.head_count": 8,
      "llama.attention.layer_norm_rms_epsilon": typed("f32", 1e-5),
    },
    tensors: [
      { ...tensor("token_embd.weight", vocabulary, hidden), data: zeros },
      ...["attn_q", "attn_k", "attn_v", "attn_output"].map((name) => tensor(`blk.0.${name}.weight`, hidden, hidden)),
      ...["ffn_gate", "ffn_up"].map((name) => tensor(`blk.0.${name}.weight`, 64, hidden)),
      tensor("blk.0.ffn_down.weight", hidden, 64),
      ...["blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"].map((name) => tensor(`${name}.weight`, hidden)),
    ],
  };
}

async function useModels(t, browser, name) {
  const { page, complaints } = await open(browser, `${site.origin}/models/index.html`);
  page.setDefaultTimeout(TIMEOUT_MS);
  const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
  const isShown = (selector) => page.$eval(selector, (element) => element.checkVisibility());
  const becomesShown = (selector) =>
    page.waitForFunction((one) => document.querySelector(one).checkVisibility(), {}, selector);
  const has = (selector, text) =>
    page.waitForFunction((one, wanted) => document.querySelector(one).textContent.includes(wanted), {}, selector, text);
  const click = (selector) => page.$eval(selector, (element) => element.click());
  const set = (control, value) =>
    page.$eval(
      `[name=${control}]`,
      (input, to) => {
        input.value = to;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      },
      value,
    );
  const isIdle = () => page.waitForFunction(() => !document.querySelector("#send").disabled);
  const answers = () => page.$$eval("#log .assistant", (lines) => lines.map((line) => line.textContent));
  const upload = async (path) => (await page.$("#files")).uploadFile(path);
  const download = async (path) => {
    await set("address", site.origin + path);
    await click("#by-address button");
  };

  await t.test("tells what the device has", async () => {
    await has("#device", "Processor cores");
    assert.match(await textOf("#device"), /Isolated from other originsno, so one threadThreads of the model1/);
    assert.match(await textOf("#kernels"), /f16floatsq8_0/);
  });

  await t.test("the small example model answers the suggested question", async () => {
    await click("#small");
    await page.waitForFunction(() => document.querySelector("#message").value.endsWith("Where is the red ball?"));
    assert.match(await textOf("#model-facts"), /^llama · 1,126,528 parameters in q8_0, .* · trained on 256 tokens\./);
    await set("maxTokens", 8);
    await set("temperature", 0);
    await click("#send");
    await isIdle();
    assert.deepEqual(await answers(), ["The red ball is in the garden."]);
    assert.match(await textOf("#speed"), /^[\d,.]+ tokens\/s$/);
    assert.equal(await textOf("#context"), "31 of 1,024");
    assert.equal(await textOf("#rope"), "yarn, base 10,000, factor 4");
  });

  await t.test("shows the next token, before and after a switch of the scaling", async () => {
    await has("#next-chart figcaption", "Most probable: ");
    await set("context", "256");
    await has("#rope", "plain, base 10,000");
    assert.equal(await textOf("#context"), "31 of 256");
    await set("scaling", "yarn");
    await has("#log", "This scaling changes nothing: its factor is 1. Choose a longer context.");
    await set("scaling", "auto");
    await has("#rope", "plain, base 10,000");
    await set("context", "1024");
    await has("#rope", "yarn, base 10,000, factor 4");
    await has("#log", "The cached keys of 31 tokens were rotated in ");
    assert.equal(await textOf("#context"), "31 of 1,024");
    await set("scaling", "linear");
    await has("#rope", "linear, base 10,000, factor 4");
    await page.waitForFunction(() => location.search.includes("models.scaling=linear"));
    await set("scaling", "auto");
    await has("#rope", "yarn, base 10,000, factor 4");
  });

  await t.test("shows what the heads read, before and after a switch of the scaling", async () => {
    const share = (text, pattern) => Number(pattern.exec(text)[1]);
    const caption = () => textOf("#attention-head figcaption");
    await set("context", "256");
    await has("#rope", "plain, base 10,000");
    for (const layer of [1, 2]) {
      await set("layer", layer);
      await has("#attention-heads figcaption", `Layer ${layer} of 4`);
    }
    await set("head", 3);
    await set("token", 9); // what this head reads most
    await has("#attention-head figcaption", "Head 3 reads");
    const weights = async () => {
      const session = await page.$$eval("#attention-heads svg g circle", (circles) => circles.length);
      return { marks: session, token: share(await caption(), /Token 9, “[^”]*”: ([\d.]+)\s%\.$/) };
    };
    const plain = await weights();
    assert.ok(plain.marks > 4 && plain.token >= 0 && plain.token <= 100);
    await set("context", "1024");
    await has("#attention-head figcaption", "before (plain)");
    const text = await caption();
    assert.equal(share(text, /([\d.]+)\s% before \(plain\)/), plain.token);
    assert.match(text, /, [\d.]+\s% after \(YaRN × 4\)\.$/);
    await page.$eval("#attention-heads svg", (svg) => {
      Object.assign(svg, { value: { head: "1", token: 0 } }); // as a click on a mark does
      svg.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    });
    await has("#attention-head figcaption", "Head 1 reads");
    assert.match(await caption(), /Token 0, “/);
    await set("context", "256");
    await has("#rope", "plain, base 10,000");
  });

  await t.test("offers a story that ends with a question", async () => {
    await click("#story");
    assert.match(await page.$eval("#message", (message) => message.value), /\. Where is the \w+ \w+\?$/);
    await page.$eval("#message", (message) => (message.value = ""));
  });

  await t.test("a wrong file leaves the chat as it is", async () => {
    await upload(join(tinyModels, "README.md"));
    await becomesShown("#problem");
    assert.match(await textOf("#problem-text"), /README\.md.* model\.q8_0\.gguf stays open\.$/);
    assert.deepEqual(await answers(), ["The red ball is in the garden."]);
    await page.$eval("#message", (message) => (message.value = " Where is the blue book?"));
    await click("#send");
    await isIdle();
    assert.equal((await answers())[1], "The blue book is in the attic.");
  });

  await t.test("measures perplexity by position", async () => {
    await click("#sample");
    await click("#measure .main");
    await has("#measure-state", "under 4 scalings in ");
    const text = await textOf("#perplexity-chart figcaption");
    const [none, ntk, yarn, dynamic] = text.match(/\d+\.\d+/g).map(Number); // as in the committed results at eight times the length
    assert.ok(dynamic < ntk && ntk < yarn && yarn < none && none > 10 && yarn < 4.5, text);
    assert.match(await textOf("#recall tbody"), /36.%NTK.*77.%YaRN.*93.%dyn.*96.%/);
  });

  await t.test("downloads a model, keeps it, and removes it", async () => {
    await download("/tiny/llama/model.gguf");
    await has("#model-name", "model.gguf");
    await has("#model-facts", "trained on 128 tokens");
    await becomesShown("#kept");
    assert.match(await textOf("#kept"), /model\.gguf\d+\.\d KiB/);
    await click("#kept button:last-child");
    await page.waitForFunction(() => !document.querySelector("#kept").checkVisibility());
    assert.equal(await isShown("#chat"), true);
  });

  await t.test("a full context is said, extended during an answer, and the answer stops", async () => {
    await set("maxTokens", 1000);
    await set("context", "128"); // the address had kept the longer one
    await has("#context", " of 128");
    await click("#new-chat");
    await page.$eval("#message", (message) => (message.value = "the"));
    await click("#send");
    await isIdle();
    await has("#log", "context is full");
    assert.equal(await textOf("#context"), "128 of 128");
    await set("context", "512");
    await has("#context", "128 of 512");
    await page.$eval("#message", (message) => (message.value = "the"));
    await click("#send");
    await page.waitForFunction(() => Number(document.querySelector("#context").textContent.split(" ")[0]) > 150);
    await click("#stop");
    await isIdle();
    assert.equal(await isShown("#problem"), false);
  });

  await t.test("an address without a model ends in a message, with a button to try again", async () => {
    await download("/tiny/none.gguf");
    await page.waitForFunction(() => document.querySelector("#problem-text").textContent.includes("none.gguf"));
    assert.equal(await textOf("#problem-actions"), "Try again");
    assert.match(await textOf("#problem-text"), /model\.gguf stays open\.$/);
  });

  await t.test("a download stops, and resumes with what has arrived", async () => {
    await page.evaluate(() => {
      const [progress, cancel] = ["#progress", "#cancel"].map((selector) => document.querySelector(selector));
      const observer = new MutationObserver(() => {
        if (progress.value === 0) return;
        observer.disconnect();
        cancel.click();
      });
      observer.observe(progress, { attributes: true });
    });
    await download("/large/large.gguf");
    await page.waitForFunction(() => document.querySelector("#problem-text").textContent.startsWith("Stopped at "));
    assert.equal(await textOf("#problem-actions"), "Resume");
    await click("#problem-actions button");
    await has("#model-name", "large.gguf");
    assert.equal(await isShown("#problem"), false);
  });

  await t.test("rounds the weights of the next model to the chosen format, which is in the address", async () => {
    assert.match(await textOf("#model-facts"), /parameters in f32 · 36\.4 MiB in memory/);
    await set("quantize", "q4_k");
    await page.waitForFunction(() => location.search.includes("models.quantize=q4_k"));
    assert.match(await textOf("#model-facts"), /parameters in f32 · /); // the open model stays as it is
    await download("/large/large.gguf");
    // the embedding is the head too, and rows of 64 aren't whole blocks of 256
    await has("#model-facts", "parameters in f32, rounded to q6_k, q4_k, q5_0 · ");
    assert.match(await textOf("#model-facts"), / · 7\.19 MiB in memory/);
    await download("/tiny/llama_q4_k/model.gguf");
    await has("#model-facts", "llama");
    await page.waitForFunction(() => !document.querySelector("#model-facts").textContent.includes("rounded"));
    await set("quantize", "keep");
    await page.waitForFunction(() => !location.search.includes("models.quantize"));
    await download("/large/large.gguf");
    await has("#model-facts", "parameters in f32 · ");
  });

  await t.test(
    "a model with recurrent layers shows the heads of the others, by their number in the model",
    async () => {
      await set("maxTokens", 1);
      await set("scaling", "yarn");
      for (const folder of ["lfm2", "qwen3_5"]) {
        await download(`/tiny/${folder}/model.gguf`);
        await has("#model-facts", folder.replace("_", ""));
        await page.$eval("#message", (message) => (message.value = "the cat and the dog"));
        await click("#send");
        await isIdle();
        await has("#attention-heads figcaption", "Layer 3 of 4");
        assert.equal(await textOf("output[data-of=layer]"), `3 (3 of 4 layers have no attention)`);
        assert.equal(await page.$eval("[name=layer]", ({ max }) => max), "1");
        assert.equal(await isShown("#problem"), false);
      }
    },
  );

  await t.test("a model without RoPE keeps its context, and one without attention says so", async () => {
    await download("/tiny/granitemoehybrid/model.gguf");
    await has("#model-facts", "granitehybrid");
    assert.equal(await textOf("#rope"), "none");
    await page.$eval("#message", (message) => (message.value = "the cat and the dog"));
    await click("#send");
    await isIdle();
    await has("#attention-heads figcaption", "Layer 3 of 4");
    await download("/tiny/mamba/model.gguf");
    await has("#model-facts", "mamba");
    await page.$eval("#message", (message) => (message.value = "the cat and the dog"));
    await click("#send");
    await isIdle();
    await has("#next-chart figcaption", "Most probable: ");
    await has("#attention-empty", "This model has no attention.");
    assert.equal(await isShown("#attention-charts"), false);
    await click("#measure .main");
    await has("#measure-state", "tokens in ");
    assert.match(await textOf("#perplexity-chart figcaption"), /: without RoPE [\d.]+\.$/);
    assert.equal(await isShown("#problem"), false);
    await set("scaling", "auto");
  });

  await t.test("searches among texts with an encoder, and with a model that scores pairs", async () => {
    const texts = ["the chair is by the window", "rain fell on the road", "the train leaves at seven"];
    const query = "the train";
    const searchIn = async (folder, facts) => {
      await download(folder);
      await has("#texts-facts", facts);
      assert.equal(await isShown("#texts"), true);
      assert.equal(await isShown("#chat"), false);
      await page.$eval("#query", (input, text) => (input.value = text), query);
      await page.$eval("#searched", (input, text) => (input.value = text), `\n${texts.join("\n\n")}\n`);
      await click("#search .main");
      await has("#search-state", "3 texts in ");
      return page.$$eval("#found tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    };
    /** What the table has with these scores. */
    const rowsOf = (heading, scores) => {
      const rows = scores.map((score, i) => [score.toFixed(3), texts[i]]);
      return [[heading, "text"], ...rows.sort(([a], [b]) => b - a)];
    };
    const rw = await load();
    const own = await rw.model(encoder);
    const [wanted, ...vectors] = await own.embed([query, ...texts]);
    const cosines = vectors.map((vector) => vector.reduce((sum, value, i) => sum + value * wanted[i], 0));
    const ranker = await rw.model(join(tinyModels, "bert_ranker"));
    const ranked = await ranker.rank(query, texts);
    const scores = texts.map((_, i) => ranked.find(({ index }) => index === i).score);
    for (const model of [own, ranker]) model.dispose();

    assert.deepEqual(await searchIn("/encoder/", "It embeds texts in 96 dimensions."), rowsOf("cosine", cosines));
    assert.deepEqual(await searchIn("/tiny/bert_ranker/", "It scores pairs of texts."), rowsOf("score", scores));
    await download("/tiny/none.gguf");
    await has("#problem-text", "model.safetensors stays open.");
    assert.equal(await isShown("#texts"), true);
    await download("/tiny/llama/model.gguf");
    await becomesShown("#chat");
    assert.equal(await isShown("#texts"), false);
  });

  // as close to a user's drop as a script gets: the File is real, but scripts can't create folder entries
  const dropBytes = (...files) =>
    page.evaluate((files) => {
      const dataTransfer = new DataTransfer();
      for (const [name, bytes] of files) dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
      const target = document.querySelector("#drop");
      const dispatch = (type) =>
        target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
      dispatch("dragenter");
      const isMarked = !dispatch("dragover") && target.classList.contains("over"); // if not prevented, the browser doesn't drop here
      return isMarked && !dispatch("drop") && !target.classList.contains("over");
    }, files);

  await t.test("opens dropped files, and keeps the model if one is damaged", async () => {
    const names = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"];
    const read = async (name) => [name, [...(await readFile(join(tinyModels, "llama", name)))]];
    assert.equal(await dropBytes(...(await Promise.all(names.map(read)))), true);
    await has("#model-name", "model.safetensors");
    assert.equal(await isShown("#problem"), false);
    assert.equal(await dropBytes(["broken.gguf", [71, 71, 85, 70, 9, 0, 0, 0, 1, 2, 3]]), true); // GGUF version 9
    await has("#problem-text", "broken.gguf");
    assert.match(await textOf("#problem-text"), /model\.safetensors stays open\.$/);
  });

  // Firefox's protocol can't drop files from disk
  await t.test("opens a folder that a user drops", { skip: name !== "chromium" }, async () => {
    const target = await page.$("#drop");
    await target.scrollIntoView();
    const { x, y, width, height } = await target.boundingBox();
    const input = await page.createCDPSession();
    const data = { items: [], files: [join(tinyModels, "qwen3")], dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"])
      await input.send("Input.dispatchDragEvent", { type, x: x + width / 2, y: y + height / 2, data });
    await has("#model-facts", "qwen3");
    assert.equal(await isShown("#problem"), false);
    await input.detach();
  });

  await t.test("fits a narrow window", { skip: !hasNarrowWindow(name) }, async () => {
    await page.setViewport({ width: 360, height: 740 });
    await page.waitForFunction(() => document.documentElement.scrollWidth <= 360);
  });

  await t.test("charts take the width of a window that becomes wider", { skip: !hasNarrowWindow(name) }, async () => {
    await page.waitForFunction(() => document.querySelector("#perplexity-chart svg").width.baseVal.value <= 360);
    await page.setViewport({ width: 1000, height: 740 });
    await page.waitForFunction(() => document.querySelector("#perplexity-chart svg").width.baseVal.value > 600);
  });

  await t.test("logs no errors or policy violations", () =>
    // browsers log each answer of 404 by themselves
    assert.deepEqual(
      complaints.filter((complaint) => !complaint.includes("404")),
      [],
    ),
  );
}
