// Commands with models by name, against a stand-in for the Hub, and `ropewalk models`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { commitOf, serveHub, TOKEN } from "../files/hub.mjs";
import { ropewalk, withFolder } from "./program.mjs";

const example = (path) => readFileSync(new URL(`../../examples/${path}`, import.meta.url));
const filesOf = (folder, names) => Object.fromEntries(names.map((name) => [name, example(`${folder}/${name}`)]));
const small = filesOf("small_model", ["config.json", "tokenizer.json", "model.safetensors"]);
const stories = "org/stories";
const quantized = "org/stories-GGUF";
const repositories = () => ({
  [stories]: { files: small },
  [quantized]: { files: { "stories-Q8_0.gguf": example("small_model/model.q8_0.gguf") }, gated: "auto" },
});

/** Calls `use` with a function that runs the program with a folder of its own for downloads, and the requests to the Hub. */
async function withHub(t, use) {
  const { url, requests, stop } = await serveHub(t, repositories());
  await withFolder(async (folder) => {
    const env = {
      HF_HOME: folder,
      HF_HUB_CACHE: "",
      HF_TOKEN: "",
      HF_TOKEN_PATH: "",
      HF_ENDPOINT: url,
      HF_HUB_OFFLINE: "",
    };
    const run = (words, options = {}) => ropewalk(words, { ...options, env: { ...env, ...options.env } });
    await use({ run, folder, requests, url, stop });
  });
}

const PROMPT = "The red ball is in the garden. Where is the red ball? The red ball is in the";

test("generate, inspect, perplexity, doctor and plot by name", async (t) => {
  await withHub(t, async ({ run, requests, stop }) => {
    const words = ["generate", stories, PROMPT, "-n", "2", "--temperature", "0"];
    const first = await run(words);
    assert.equal(first.stdout, " garden.\n", first.stderr);
    const choice = `org/stories: model.safetensors, .* of commit ${commitOf(small).slice(0, 7)} \\(the only model`;
    assert.match(first.stderr, new RegExp(choice));
    requests.length = 0;
    assert.equal((await run(words)).stdout, " garden.\n");
    assert.deepEqual(
      requests.map(({ path }) => path),
      [`/api/models/${stories}/revision/main`],
    );
    const byPath = new URL("../../examples/small_model/", import.meta.url).pathname;
    const text = "The red ball is in the garden. Where is the red ball? The red ball is in the garden.";
    for (const rest of [
      ["inspect", "--json"],
      ["doctor", "--json"],
      ["table", "--length", "4", "--json"],
    ]) {
      const [command, ...options] = rest;
      const results = await Promise.all([stories, byPath].map((source) => run([command, source, ...options])));
      const [named, local] = results.map(({ stdout }) => JSON.parse(stdout.replaceAll(byPath, stories)));
      if (command === "inspect") assert.equal(named.model?.hub?.repository ?? stories, stories);
      delete named.model?.hub;
      assert.deepEqual(named, local, command);
    }
    const config = await run(["inspect", `${stories}/config.json`]);
    assert.match(config.stdout, /^RoPE /m, config.stderr);
    await withFolder(async (folder) => {
      await writeFile(join(folder, "text.txt"), text);
      const { stdout, stderr } = await run(["perplexity", stories, join(folder, "text.txt"), "--json"]);
      assert.ok(JSON.parse(stdout), stderr);
      const output = join(folder, "q8.gguf");
      const converted = await run(["convert", "quantize", stories, output, "--to", "q8_0"]);
      assert.match(converted.stdout, /q8\.gguf: \d+ tensors/, converted.stderr);
    });
    stop();
    const offline = await run(words);
    assert.equal(offline.stdout, " garden.\n", offline.stderr);
    assert.match(offline.stderr, /warning: org\/stories: using what is kept of commit/);
  });
});

test("tokens: HF_TOKEN, or the file of huggingface_hub", async (t) => {
  await withHub(t, async ({ run, folder, requests, url }) => {
    const words = ["inspect", `${quantized}:q8_0`];
    const refused = await run(words);
    assert.equal(refused.status, 1);
    assert.match(
      refused.stderr,
      /gated; accept its licence on .*org\/stories-GGUF, then make a token .* set HF_TOKEN to it \(NETWORK\)/,
    );
    assert.equal((await run(words, { env: { HF_TOKEN: TOKEN } })).status, 0);
    await writeFile(join(folder, "token"), `${TOKEN}\n`);
    assert.equal((await run(words)).status, 0);
    assert.ok(requests.every(({ host, token }) => host === "127.0.0.1" || token === undefined));
    // --hub comes before HF_ENDPOINT
    const elsewhere = { HF_ENDPOINT: "http://127.0.0.1:9" };
    assert.equal((await run(["--hub", url, ...words], { env: elsewhere })).status, 0);
    assert.match(
      (await run(["--hub", "nowhere", ...words])).stderr,
      /hub.*must be the http: or https: address of a Hub/,
    );
  });
});

test("names that lead nowhere, and paths that exist", async (t) => {
  await withHub(t, async ({ run, folder, requests }) => {
    const fails = async (source, message, options) => {
      const { status, stderr } = await run(["generate", source, "a"], options);
      assert.ok(status > 0);
      assert.match(stderr, message);
    };
    await fails("org/none", /no model org\/none, or it is private, .*; check the name, or make a token .*HF_TOKEN/);
    await fails(`${stories}@v2`, /no revision v2, .*; check the branch, tag or commit after the @/);
    await fails(`${stories}:Q4_K_M`, /no quantization Q4_K_M; it has safetensors/);
    await fails(`${stories}/x.gguf`, /no file x\.gguf at main; it has model\.safetensors/);
    requests.length = 0;
    await mkdir(join(folder, stories), { recursive: true });
    await fails(stories, /the folder has no model/, { cwd: folder });
    await fails("stories.gguf", /no such file: /);
    assert.deepEqual(requests, []);
  });
});

test("ropewalk models lists and removes what is kept", async (t) => {
  await withHub(t, async ({ run }) => {
    assert.equal((await run(["models", "list"])).stdout, "no models are kept on this device\n");
    await run(["generate", stories, "The", "-n", "1"]);
    assert.match((await run(["models", "list"])).stdout, /name +size\n[─-]*.*\n?org\/stories +\d/);
    const [listed] = JSON.parse((await run(["models", "list", "--json"])).stdout);
    const bytes = Object.values(small).reduce((sum, { length }) => sum + length, 0);
    assert.deepEqual(listed, { name: stories, bytes, size: bytes });
    const wrong = await run(["models", "remove", "org/none"]);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /org\/none: isn't kept on this device; `ropewalk models list` prints the names/);
    assert.equal((await run(["models", "remove", stories])).stdout, `removed ${stories}\n`);
    assert.deepEqual(JSON.parse((await run(["models", "list", "--json"])).stdout), []);
  });
});
