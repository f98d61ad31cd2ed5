// Models in a Worker of a page with a strict Content-Security-Policy, and the chat page of examples/.
import assert from "node:assert/strict";
import { cp, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serve as serveExamples } from "../../examples/serve.mjs";
import { typed, writeGguf } from "../files/gguf_writer.mjs";
import { BROWSERS, hasNarrowWindow, hasOpfs, open, runTask, withBrowser } from "./browsers.mjs";
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
  test(`ropewalk/worker, in ${name}`, (t) => withBrowser(name, (browser) => useWorker(t, browser, name)));

  test(`the chat page, in ${name}`, async (t) => {
    const { server, address } = await serveExamples(0);
    try {
      await withBrowser(name, (browser) => useChatPage(t, browser, name, new URL("../chat_page/", address).href));
    } finally {
      server.close();
    }
  });
}

async function useWorker(t, browser, name) {
  const { page, complaints } = await open(browser, `${site.origin}/pages/model/index.html`);
  const run = (task, ...args) => runTask(page, task, ...args);

  await t.test("generates the same text as the page's thread, from an address, files and bytes", async () => {
    const { texts, sizes } = await run("sameText");
    assert.equal(texts.length, 7);
    assert.equal(texts[0].length, 30);
    for (const text of texts) assert.deepEqual(text, texts[0]);
    assert.ok(sizes[0] > 0);
    assert.equal(sizes[1], 0);
  });

  await t.test("reads the files of a safetensors folder", async () => {
    const [safetensors, gguf] = await run("safetensors");
    assert.ok(gguf.length > 0);
    assert.equal(safetensors, gguf);
  });

  await t.test("lists cached models and deletes them", async () => {
    const { steps, wrong } = await run("cached");
    const { size } = await stat(join(models, "llama", "model.gguf"));
    const expected = (cache) => {
      if (cache === "opfs" && !hasOpfs(name)) return [[], false, false, []];
      return [[{ source: `${site.origin}/models/llama/model.gguf`, cache, bytes: size, size }], true, false, []];
    };
    assert.deepEqual(steps, [...expected("opfs"), ...expected("cache"), ...expected("opfs"), ...expected("cache")]);
    assert.deepEqual(wrong, {
      isRopewalkError: true,
      name: "RopewalkError",
      code: "INVALID_ARGUMENT",
      field: "source",
    });
  });

  await t.test("an abort during generation leaves the session usable", async () => {
    assert.deepEqual(await run("abort"), { isReason: true, appended: 5, more: 3, finish: "length" });
  });

  await t.test("an abort reaches a busy Worker, and doesn't block the page", async () => {
    const { name, read, tokens, ticks } = await run("abortReading");
    assert.equal(name, "AbortError");
    assert.ok(read > 500 && read < 19000, `${read} tokens read`);
    assert.equal(tokens, read);
    assert.ok(ticks > 0);
  });

  await t.test("errors keep their class, code and field", async () => {
    const { full, damaged, missing, build, model, worker } = await run("errors");
    const error = (code, field) => ({ isRopewalkError: true, name: "RopewalkError", code, field });
    assert.deepEqual(full, error("CACHE_FULL", "tokens"));
    assert.deepEqual(build, error("INVALID_ARGUMENT", "build"));
    assert.deepEqual(model, error("DISPOSED", "model"));
    assert.deepEqual(worker, error("DISPOSED", "worker"));
    assert.equal(damaged.code, "INVALID_FILE");
    assert.equal(missing.isRopewalkError, true);
  });

  await t.test("two models generate at the same time", async () => {
    const { alone, together } = await run("twoModels");
    assert.deepEqual(together, alone);
    assert.notDeepEqual(alone[0], alone[1]);
  });

  await t.test("logs no errors or policy violations", async () => {
    assert.deepEqual(await run("violations"), []);
    assert.deepEqual(complaints, []);
  });

  await t.test("a missing Worker file is an error and doesn't hang", async () => {
    const { code, field } = await run("loadFrom", "/incomplete/dist/worker.js");
    assert.deepEqual({ code, field }, { code: "WASM_LOAD", field: "worker" });
  });
  await page.close();
}

/** A Llama model of one layer and 128 MB, all zeros. */
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
  const send = async (text) => {
    await page.type("#message", text);
    await page.keyboard.press("Enter");
  };
  const isIdle = () => page.waitForFunction(() => !document.querySelector("#send").disabled);
  const answers = () => page.$$eval("#log .assistant", (lines) => lines.map((line) => line.textContent));

  await t.test("opens a chosen file", async () => {
    assert.equal(await isShown("#chat"), false);
    await (await page.$("#files")).uploadFile(join(models, "llama", "model.gguf"));
    await page.waitForFunction(() => document.querySelector("#chat").checkVisibility());
    assert.equal(await textOf("#model-name"), "model.gguf");
    assert.match(
      await textOf("#model-facts"),
      /^llama · 20,640 weights in f32 · 80\.6 KB · trained on 128 tokens\. It has no chat template/,
    );
    assert.equal(await textOf("#rope"), "plain, base 1,000");
    assert.equal(await textOf("#context"), "0 of 128");
    assert.equal(await isShown("#loading"), false);
  });

  await t.test("streams an answer, with its speed and the context used", async () => {
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 20));
    await page.$eval("input[name=temperature]", (input) => (input.value = 0)); // sampling might choose the end token at once
    await send("the cat");
    await isIdle();
    assert.equal((await answers()).length, 1);
    assert.match(await textOf("#speed"), /^[\d,.]+ tokens\/s$/);
    assert.equal(await textOf("#context"), "25 of 128"); // 5 of the prompt, and 20 generated
    assert.equal(await textOf("#log .user"), "the cat");
  });

  await t.test("reports a full context and extends it", async () => {
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 1000));
    await send("the");
    await isIdle();
    assert.match(await textOf("#log li:last-child"), /^The context is full/);
    assert.equal(await textOf("#context"), "128 of 128");
    await page.select("select[name=stretch]", "512");
    await page.waitForFunction(() => document.querySelector("#rope").textContent.startsWith("yarn"));
    assert.equal(await textOf("#rope"), "yarn, base 1,000, factor 4");
    assert.equal(await textOf("#context"), "128 of 512");
  });

  await t.test("extends the context during an answer, and stops the answer", async () => {
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 100000));
    await page.click("#new-chat");
    await page.waitForFunction(() => document.querySelector("#context").textContent.startsWith("0 of"));
    await send("the");
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

  await t.test("opens a dropped file, and answers with it", async () => {
    assert.equal(await drop(join(models, "qwen3", "model.gguf")), true);
    await page.waitForFunction(() => document.querySelector("#model-facts").textContent.startsWith("qwen3"));
    assert.equal(await isShown("#chat"), true);
    assert.equal(await isShown("#problem"), false);
    assert.equal(await textOf("#context"), "0 of 128");
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 5));
    await send("the cat");
    await isIdle();
    assert.notEqual(await textOf("#context"), "0 of 128");
    assert.equal(await textOf("#log .user"), "the cat");
  });

  await t.test("opens several files dropped together", async () => {
    const names = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"];
    assert.equal(await drop(...names.map((name) => join(models, "llama", name))), true);
    await page.waitForFunction(() => document.querySelector("#model-name").textContent === "model.safetensors");
    assert.equal(await isShown("#problem"), false);
  });

  // Firefox's protocol can't drop files from disk
  await t.test("opens a folder that a user drops", { skip: name !== "chromium" }, async () => {
    const target = await page.$("#drop");
    await target.scrollIntoView();
    const { x, y, width, height } = await target.boundingBox();
    const input = await page.createCDPSession();
    const data = { items: [], files: [join(models, "llama")], dragOperationsMask: 1 };
    await page.$eval("#model-name", (element) => element.replaceChildren());
    for (const type of ["dragEnter", "dragOver", "drop"])
      await input.send("Input.dispatchDragEvent", { type, x: x + width / 2, y: y + height / 2, data });
    await page.waitForFunction(() => document.querySelector("#model-name").textContent === "model.safetensors");
    assert.equal(await isShown("#problem"), false);
    await input.detach();
  });

  await t.test("reports an error for an invalid dropped file", async () => {
    assert.equal(await dropBytes(["broken.gguf", [71, 71, 85, 70, 9, 0, 0, 0, 1, 2, 3]]), true); // GGUF version 9
    await page.waitForFunction(() => document.querySelector("#problem").checkVisibility());
    assert.match(await textOf("#problem"), /^broken\.gguf: /);
    assert.equal(await isShown("#chat"), false);
    assert.equal(await isShown("#drop"), true);
  });

  await t.test("cancels loading a large file", async () => {
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

  await t.test("opens the small model of the examples, which answers the suggested question", async () => {
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 8));
    await page.click("#small");
    await page.waitForFunction(() => document.querySelector("#model-name").textContent === "model.safetensors");
    await page.waitForFunction(() => document.querySelector("#message").value.endsWith("Where is the red ball?"));
    assert.match(await textOf("#model-facts"), /^llama · 1,126,528 weights in f16 · .* · trained on 256 tokens\./);
    await page.click("#send");
    await isIdle();
    assert.deepEqual(await answers(), ["The red ball is in the garden."]);
  });

  await t.test("opens the files of a folder afterwards", async () => {
    const names = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"];
    await (await page.$("#files")).uploadFile(...names.map((name) => join(models, "llama", name)));
    await page.waitForFunction(() => document.querySelector("#chat").checkVisibility());
    assert.equal(await textOf("#model-name"), "model.safetensors");
    assert.equal(await isShown("#problem"), false);
    await page.$eval("input[name=maxTokens]", (input) => (input.value = 5));
    await send("the cat");
    await isIdle();
    assert.equal(await textOf("#context"), "10 of 128");
  });

  await t.test("fits a narrow window", { skip: !hasNarrowWindow(name) }, async () => {
    await page.setViewport({ width: 390, height: 800 });
    assert.ok(await page.evaluate(() => innerWidth === 390 && document.documentElement.scrollWidth <= 390));
  });

  await t.test("logs no errors or policy violations", () => assert.deepEqual(complaints, []));
  await page.close();
}
