// Models in a page's Worker under the strict policy, and the chat page of examples/.
import assert from "node:assert/strict";
import { cp, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serve as serveExamples } from "../../examples/serve.mjs";
import { typed, writeGguf } from "../files/gguf_writer.mjs";
import { BROWSERS, open, runTask, withBrowser } from "./browsers.mjs";
import { serve } from "./server.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";

const models = join(root, "tests", "golden", "tiny_models");

let site, folder;

before(async () => {
  folder = await makeFolder();
  const unpacked = await unpackPackage(folder);
  const incomplete = join(folder, "incomplete");
  await cp(unpacked, incomplete, { recursive: true, filter: (path) => !path.endsWith("worker_thread.js") });
  site = await serve({
    "/pages/": { folder: join(root, "tests", "browser", "pages") },
    "/package/": { folder: unpacked },
    "/incomplete/": { folder: incomplete },
    "/models/": { folder: models },
  });
});

after(async () => {
  await site?.close();
  await removeFolder(folder);
});

for (const name of BROWSERS) {
  test(`ropewalk/worker, in ${name}`, (t) => withBrowser(name, (browser) => useWorker(t, browser)));

  test(`the chat page, in ${name}`, async (t) => {
    const { server, address } = await serveExamples(0);
    try {
      await withBrowser(name, (browser) => useChatPage(t, browser, name, new URL("../chat_page/", address).href));
    } finally {
      server.close();
    }
  });
}

async function useWorker(t, browser) {
  const { page, complaints } = await open(browser, `${site.origin}/pages/model/index.html`);
  const run = (task, ...args) => runTask(page, task, ...args);

  await t.test("says what the page's own thread says, from an address, files and bytes", async () => {
    const { texts, left } = await run("sameText");
    assert.equal(texts.length, 7);
    assert.equal(texts[0].length, 30);
    for (const text of texts) assert.deepEqual(text, texts[0]);
    assert.ok(left[0] > 0);
    assert.equal(left[1], 0);
  });

  await t.test("reads the files of a safetensors folder", async () => {
    const [safetensors, gguf] = await run("safetensors");
    assert.ok(gguf.length > 0);
    assert.equal(safetensors, gguf);
  });

  await t.test("lists what is kept, and removes it", async () => {
    const { steps, wrong } = await run("cached");
    const { size } = await stat(join(models, "llama", "model.gguf"));
    const kept = (cache) => [
      [{ source: `${site.origin}/models/llama/model.gguf`, cache, bytes: size, size }],
      true,
      false,
      [],
    ];
    assert.deepEqual(steps, [...kept("opfs"), ...kept("cache"), ...kept("opfs"), ...kept("cache")]);
    assert.deepEqual(wrong, {
      isRopewalkError: true,
      name: "RopewalkError",
      code: "INVALID_ARGUMENT",
      field: "source",
    });
  });

  await t.test("an abort in the middle of a text leaves the session usable", async () => {
    assert.deepEqual(await run("abort"), { isReason: true, taken: 5, more: 3, finish: "length" });
  });

  await t.test("an abort reaches a Worker that is busy, and the page never waits", async () => {
    const { name, read, tokens, ticks } = await run("abortReading");
    assert.equal(name, "AbortError");
    assert.ok(read > 500 && read < 19000, `${read} tokens read`);
    assert.equal(tokens, read);
    assert.ok(ticks > 0);
  });

  await t.test("errors arrive as what they are", async () => {
    const { full, damaged, missing, build, model, worker } = await run("errors");
    const error = (code, field) => ({ isRopewalkError: true, name: "RopewalkError", code, field });
    assert.deepEqual(full, error("CACHE_FULL", "tokens"));
    assert.deepEqual(build, error("INVALID_ARGUMENT", "build"));
    assert.deepEqual(model, error("DISPOSED", "model"));
    assert.deepEqual(worker, error("DISPOSED", "worker"));
    assert.equal(damaged.code, "INVALID_FILE");
    assert.equal(missing.isRopewalkError, true);
  });

  await t.test("two models at once", async () => {
    const { alone, together } = await run("twoModels");
    assert.deepEqual(together, alone);
    assert.notDeepEqual(alone[0], alone[1]);
  });

  await t.test("gives no cause for complaint", async () => {
    assert.deepEqual(await run("violations"), []);
    assert.deepEqual(complaints, []);
  });

  await t.test("a Worker whose file is missing is an error, and no endless wait", async () => {
    const { code, field } = await run("loadFrom", "/incomplete/dist/worker.js");
    assert.deepEqual({ code, field }, { code: "WASM_LOAD", field: "worker" });
  });
  await page.close();
}

/** A llama of one layer and 128 MB, all zeros. */
function largeModel() {
  const [hidden, vocabulary] = [1024, 32768];
  const zeros = function* () {
    for (let i = 0; i < 128; i++) yield new Uint8Array((hidden * vocabulary * 4) / 128);
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

async function useChatPage(t, browser, name, address) {
  const { page, complaints } = await open(browser, address);
  const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
  const isShown = (selector) => page.$eval(selector, (element) => element.checkVisibility());
  const say = async (text) => {
    await page.type("#message", text);
    await page.keyboard.press("Enter");
  };
  const isIdle = () => page.waitForFunction(() => !document.querySelector("#send").disabled);
  const answers = () => page.$$eval("#log .assistant", (lines) => lines.map((line) => line.textContent));

  await t.test("opens a file that is chosen", async () => {
    assert.equal(await isShown("#chat"), false);
    await (await page.$("#files")).uploadFile(join(models, "llama", "model.gguf"));
    await page.waitForFunction(() => document.querySelector("#chat").checkVisibility());
    assert.equal(await textOf("#model-name"), "model.gguf");
    assert.match(
      await textOf("#model-facts"),
      /^llama · 20,640 weights as f32 · 80\.6 KB · trained on 128 tokens\. It has no chat template/,
    );
    assert.equal(await textOf("#rope"), "plain, base 1,000");
    assert.equal(await textOf("#context"), "0 of 128");
    assert.equal(await isShown("#loading"), false);
  });

  await t.test("streams an answer, with its speed and the context used", async () => {
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 20));
    await page.$eval("input[name=temperature]", (input) => (input.value = 0)); // sampling might end at once
    await say("the cat");
    await isIdle();
    assert.equal((await answers()).length, 1);
    assert.match(await textOf("#speed"), /^[\d,.]+ tokens\/s$/);
    assert.equal(await textOf("#context"), "25 of 128"); // 5 of the prompt, and 20 generated
    assert.equal(await textOf("#log .user"), "the cat");
  });

  await t.test("says when the context is full, and stretches it", async () => {
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 1000));
    await say("the");
    await isIdle();
    assert.match(await textOf("#log li:last-child"), /^The context is full/);
    assert.equal(await textOf("#context"), "128 of 128");
    await page.select("select[name=stretch]", "512");
    await page.waitForFunction(() => document.querySelector("#rope").textContent.startsWith("yarn"));
    assert.equal(await textOf("#rope"), "yarn, base 1,000, factor 4");
    assert.equal(await textOf("#context"), "128 of 512");
  });

  await t.test("stops an answer, and stretches in the middle of one", async () => {
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 100000));
    await page.click("#new-chat");
    await page.waitForFunction(() => document.querySelector("#context").textContent.startsWith("0 of"));
    await say("the");
    await page.waitForFunction(() => Number(document.querySelector("#context").textContent.split(" ")[0]) > 20);
    await page.select("select[name=stretch]", "1024");
    await page.waitForFunction(() => document.querySelector("#context").textContent.endsWith(" of 1,024"));
    assert.equal(await textOf("#rope"), "yarn, base 1,000, factor 8");
    await page.click("#stop");
    await isIdle();
    assert.match(await textOf("#log .note"), /^(Stopped\.|The context is full)/); // on a fast machine the context may be full first
    assert.equal(await isShown("#problem"), false);
  });

  const drop = async (...paths) => {
    const files = await Promise.all(paths.map(async (path) => [path.split("/").at(-1), [...(await readFile(path))]]));
    return dropBytes(...files);
  };
  // like a drop by hand, as far as a script can: the File is real, but a folder entry can't be created
  const dropBytes = (...files) =>
    page.evaluate((files) => {
      const dataTransfer = new DataTransfer();
      for (const [name, bytes] of files) dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
      const place = document.querySelector("#drop");
      const send = (type) =>
        place.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
      send("dragenter");
      const isMarked = !send("dragover") && place.classList.contains("over"); // if not prevented, the browser doesn't drop here
      return isMarked && !send("drop") && !place.classList.contains("over");
    }, files);

  await t.test("takes a file that is dropped, and answers with it", async () => {
    assert.equal(await drop(join(models, "qwen3", "model.gguf")), true);
    await page.waitForFunction(() => document.querySelector("#model-facts").textContent.startsWith("qwen3"));
    assert.equal(await isShown("#chat"), true);
    assert.equal(await isShown("#problem"), false);
    assert.equal(await textOf("#context"), "0 of 128");
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 5));
    await say("the cat");
    await isIdle();
    assert.notEqual(await textOf("#context"), "0 of 128");
    assert.equal(await textOf("#log .user"), "the cat");
  });

  await t.test("takes several that are dropped together", async () => {
    const names = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"];
    assert.equal(await drop(...names.map((name) => join(models, "llama", name))), true);
    await page.waitForFunction(() => document.querySelector("#model-name").textContent === "model.safetensors");
    assert.equal(await isShown("#problem"), false);
  });

  // Firefox's protocol can't drop files from disk
  await t.test("takes a folder that is dropped by hand", { skip: name !== "chromium" }, async () => {
    const place = await page.$("#drop");
    await place.scrollIntoView();
    const { x, y, width, height } = await place.boundingBox();
    const input = await page.createCDPSession();
    const data = { items: [], files: [join(models, "llama")], dragOperationsMask: 1 };
    await page.$eval("#model-name", (element) => element.replaceChildren());
    for (const type of ["dragEnter", "dragOver", "drop"])
      await input.send("Input.dispatchDragEvent", { type, x: x + width / 2, y: y + height / 2, data });
    await page.waitForFunction(() => document.querySelector("#model-name").textContent === "model.safetensors");
    assert.equal(await isShown("#problem"), false);
    await input.detach();
  });

  await t.test("says what is wrong with a file that is dropped", async () => {
    assert.equal(await dropBytes(["broken.gguf", [71, 71, 85, 70, 9, 0, 0, 0, 1, 2, 3]]), true); // GGUF of version 9
    await page.waitForFunction(() => document.querySelector("#problem").checkVisibility());
    assert.match(await textOf("#problem"), /^broken\.gguf: /);
    assert.equal(await isShown("#chat"), false);
    assert.equal(await isShown("#drop"), true);
  });

  await t.test("gives up reading a large file", async () => {
    const large = join(folder, "large.gguf");
    await writeGguf(large, largeModel());
    await page.evaluate(() => {
      const [progress, cancel] = ["#progress", "#cancel"].map((selector) => document.querySelector(selector));
      const observer = new MutationObserver(() => {
        if (progress.value === 0) return;
        observer.disconnect();
        cancel.click();
      });
      observer.observe(progress, { attributes: true });
    });
    await (await page.$("#files")).uploadFile(large);
    await page.waitForFunction(() => document.querySelector("#loading").checkVisibility());
    await page.waitForFunction(() => !document.querySelector("#loading").checkVisibility());
    for (const selector of ["#chat", "#problem"]) assert.equal(await isShown(selector), false, selector);
    assert.equal(await isShown("#drop"), true);
  });

  await t.test("takes the small model of the examples, which answers what it is asked", async () => {
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 8));
    await page.click("#small");
    await page.waitForFunction(() => document.querySelector("#model-name").textContent === "model.safetensors");
    await page.waitForFunction(() => document.querySelector("#message").value.endsWith("Where is the red ball?"));
    assert.match(await textOf("#model-facts"), /^llama · 1,126,528 weights as f16 · .* · trained on 256 tokens\./);
    await page.click("#send");
    await isIdle();
    assert.deepEqual(await answers(), ["The red ball is in the garden."]);
  });

  await t.test("opens the files of a folder after that", async () => {
    const names = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"];
    await (await page.$("#files")).uploadFile(...names.map((name) => join(models, "llama", name)));
    await page.waitForFunction(() => document.querySelector("#chat").checkVisibility());
    assert.equal(await textOf("#model-name"), "model.safetensors");
    assert.equal(await isShown("#problem"), false);
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 5));
    await say("the cat");
    await isIdle();
    assert.equal(await textOf("#context"), "10 of 128");
  });

  await t.test("fits a narrow window", async () => {
    await page.setViewport({ width: 390, height: 800 });
    assert.ok(await page.evaluate(() => innerWidth === 390 && document.documentElement.scrollWidth <= 390));
  });

  await t.test("gives no cause for complaint", () => assert.deepEqual(complaints, []));
  await page.close();
}
