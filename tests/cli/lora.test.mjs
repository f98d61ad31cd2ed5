// The option --lora of the commands that read or generate text.
import assert from "node:assert/strict";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { ropewalk, withFolder } from "./program.mjs";

const golden = (path) => fileURLToPath(new URL(`../golden/${path}`, import.meta.url));
const llama = golden("tiny_models/llama");
const [all, attention] = [golden("adapters/llama_all"), golden("adapters/llama_attention/adapter.gguf")];
const PROMPT = "the cat";

/** The same with the package. */
async function generated(adapters) {
  const rw = await load();
  const model = await rw.model(llama);
  try {
    const used = await Promise.all(
      adapters.map(async ([source, scale]) => ({ adapter: await model.loadAdapter(source), scale })),
    );
    const tokens = [];
    for await (const { token } of model.generate(PROMPT, { maxTokens: 12, temperature: 0, adapters: used }))
      tokens.push(token);
    const { perplexity } = await model.perplexity(PROMPT.repeat(4), { adapters: used, window: 128, stride: 64 });
    return { tokens, perplexity };
  } finally {
    model.dispose();
  }
}

test("generate and perplexity with two adapters, one of them scaled", async () => {
  const wanted = await generated([
    [all, 1],
    [attention, -1.5],
  ]);
  const flags = ["--lora", all, "--lora", `${attention}:-1.5`, "--json"];
  const words = ["generate", llama, PROMPT, "--temperature", "0", "--max-tokens", "12"];
  const { stdout, status } = await ropewalk([...words, ...flags]);
  assert.equal(status, 0);
  assert.deepEqual(JSON.parse(stdout).tokens, wanted.tokens);
  const { stdout: plain } = await ropewalk([...words, "--json"]);
  assert.notDeepEqual(JSON.parse(plain).tokens, wanted.tokens);
  await withFolder(async (folder) => {
    const path = join(folder, "text.txt");
    await writeFile(path, PROMPT.repeat(4));
    const measured = await ropewalk(["perplexity", llama, path, ...flags]);
    assert.equal(measured.status, 0);
    assert.equal(JSON.parse(measured.stdout).results[0].perplexity, wanted.perplexity);
  });
});

test("chat with an adapter", () =>
  withFolder(async (folder) => {
    const template = join(folder, "chat.jinja");
    await writeFile(template, "{% for message in messages %}{{ message.content }}{% endfor %}");
    const chat = async (...flags) => {
      const words = ["chat", llama, "--chat-template", template, "--temperature", "0", "-n", "8", "--json"];
      const { stdout, status } = await ropewalk([...words, ...flags], { input: `${PROMPT}\n` });
      assert.equal(status, 0);
      return JSON.parse(stdout).answers[0].text;
    };
    assert.notEqual(await chat("--lora", `${all}:2`), await chat());
    assert.equal(await chat("--lora", `${all}:0`), await chat());
  }));

test("an adapter of another model, and a path that doesn't exist", async () => {
  const words = ["generate", golden("tiny_models/gemma"), PROMPT];
  const other = await ropewalk([...words, "--lora", all]);
  assert.equal(other.status, 1);
  assert.match(other.stderr, /the adapter is of another base model, tiny\/llama/);
  const missing = await ropewalk([...words, "--lora", "./nothing/"]);
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /no such file/);
});

test("embed and rank with an adapter", async () => {
  const rw = await load();
  const model = await rw.model(llama);
  const adapters = [{ adapter: await model.loadAdapter(all), scale: 0.5 }];
  const [wanted] = await model.embed([PROMPT], { adapters });
  model.dispose();
  const embed = async (...flags) => {
    const { stdout, status, stderr } = await ropewalk(["embed", llama, PROMPT, "--json", ...flags]);
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout).embeddings[0].vector;
  };
  assert.deepEqual(await embed("--lora", `${all}:0.5`), [...wanted]);
  assert.notDeepEqual(await embed(), [...wanted]);
  // it is loaded, and found to be of another model
  const ranker = golden("tiny_models/bert_ranker");
  const { status, stderr } = await ropewalk(["rank", ranker, "a", "b", "--lora", all]);
  assert.equal(status, 1);
  assert.match(stderr, /adapter_model\.safetensors/);
});

test("a scale that isn't a number is wrong usage", async () => {
  for (const given of [`${all}/:x`, `${all}:x`, `${all}:`, "nothere/:x"]) {
    const { status, stderr } = await ropewalk(["generate", llama, PROMPT, "--lora", given]);
    assert.equal(status, 2, `${given}: ${stderr}`);
    assert.match(stderr, /The scale after : must be a number/, given);
  }
});

test("a path that exists is one, whatever it looks like", () =>
  withFolder(async (folder) => {
    const path = join(folder, "adapter.gguf:0.5");
    await copyFile(attention, path);
    const words = ["generate", llama, PROMPT, "--temperature", "0", "-n", "12", "--json"];
    const tokens = async (adapter) => JSON.parse((await ropewalk([...words, "--lora", adapter])).stdout).tokens;
    assert.deepEqual(await tokens(path), await tokens(attention));
    assert.deepEqual(await tokens(`${path}:-1.5`), await tokens(`${attention}:-1.5`));
  }));

test("refused: folders without an adapter or with several, and values that name none", () =>
  withFolder(async (folder) => {
    const refused = async (adapter, message) => {
      const { status, stderr } = await ropewalk(["generate", llama, PROMPT, "-n", "1", "--lora", adapter]);
      assert.match(stderr, message);
      assert.notEqual(status, 0);
    };
    await refused(folder, new RegExp(`^error: ${folder}: the folder has no adapter: no adapter_model\\.safetensors`));
    for (const name of ["a.gguf", "b.GGUF"]) await copyFile(attention, join(folder, name));
    await refused(
      folder,
      new RegExp(`^error: ${folder}: the folder has several adapters \\(a\\.gguf, b\\.GGUF\\); pass`),
    );
    await refused("", /^error: option '--lora .*Must be a path, a URL or a name/);
    await refused(`${all}:1e999`, /^error: option '--lora .*The scale after : must be a number/);
  }));
