// `ropewalk doctor`: config.json, GGUF, folders, URLs, and errors.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { ggufBytes } from "../files/gguf_writer.mjs";
import { ropewalk, withFolder } from "./program.mjs";

const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const qwen = path("examples/configs/qwen2.5-7b.json");

async function diagnosed(...words) {
  const { status, stdout, stderr } = await ropewalk(["doctor", ...words, "--json"]);
  assert.equal(status, 0, stdout + stderr);
  return JSON.parse(stdout);
}

const tensor = (name, values) => {
  const data = new Uint8Array(Float32Array.from(values).buffer);
  return { name, type: "f32", shape: [values.length], data };
};

/** A GGUF file of Llama 3.1's shape, without weights. */
const llama = (tensors) =>
  ggufBytes({
    metadata: {
      "general.architecture": "llama",
      "llama.block_count": 32,
      "llama.context_length": 131072,
      "llama.embedding_length": 4096,
      "llama.attention.head_count": 32,
      "llama.attention.head_count_kv": 8,
      "llama.rope.freq_base": 500000,
    },
    tensors,
  });

test("a report with the verdict, the flags and the memory", async () => {
  const { status, stdout, stderr } = await ropewalk(["doctor", qwen, "--context", "100000"]);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(stdout, /^qwen2\.5-7b\.json: qwen2\nNeeds YaRN: made for 32,768 tokens/);
  assert.match(stdout, /--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768/);
  assert.match(stdout, /100,000 tokens ← +5\.34 GiB/);
  assert.ok(!stdout.includes("\x1b"));
});

test("lengths as people write them, and the memory of weights", async () => {
  for (const [text, length] of [
    ["100k", 100_000],
    ["128K", 131_072],
    ["100,000", 100_000],
    ["1e5", 100_000],
  ]) {
    const { length: read, weights } = await diagnosed(qwen, "--context", text);
    assert.equal(read, length, text);
    assert.equal(weights.parameters, 7_615_616_512);
  }
  const { stdout } = await ropewalk(["doctor", qwen, "--context", "100k"]);
  assert.match(stdout, /Memory of the weights: 7,615,616,512 parameters, an estimate/);
  assert.match(stdout, /Q4_K_M +4\.34 GiB +9\.68 GiB/);
  const { status, stderr } = await ropewalk(["doctor", qwen, "--context", "100.000"]);
  assert.equal(status, 2);
  assert.match(
    stderr,
    /'100\.000' is invalid\. Must be an integer from 1 to 1073741824\. Also written as 100,000, 100k/,
  );
  const { trainedLength } = await diagnosed(
    path("tests/golden/tiny_models/llama/config.json"),
    "--trained-length",
    "32K",
  );
  assert.ok(trainedLength > 0);
});

test("--json prints the diagnosis", async () => {
  const { verdict, length, recipe, isRequested } = await diagnosed(qwen);
  assert.deepEqual([verdict.status, length, isRequested], ["fits", 32768, false]);
  assert.ok(recipe.blocks.every(({ checked }) => checked.same));
});

test("keys that are ignored without effect, and the length a scaled model is made for", async () => {
  const { stdout } = await ropewalk(["doctor", path("examples/configs/deepseek-v3.json"), "--context", "100000"]);
  assert.match(stdout, /made for 163,840 tokens, scaled from 4,096, factor 40/);
  assert.match(
    stdout.replace(/\s+/g, " "),
    /llama\.cpp .* it ignores beta_fast, beta_slow, mscale, which changes nothing here/,
  );
});

test("every example config, within its length and beyond", async () => {
  for (const name of ["deepseek-v3", "gemma-3-1b", "gpt-oss-20b", "llama-3.1-8b", "phi-3.5-mini"]) {
    const config = path(`examples/configs/${name}.json`);
    const own = await diagnosed(config);
    assert.equal(own.verdict.status, "fits", name);
    assert.ok(own.memory !== null, name);
    assert.ok(
      own.findings.every(({ severity }) => severity !== "error"),
      name,
    );
    const beyond = await diagnosed(config, "--context", "500000");
    assert.notEqual(beyond.verdict.status, "fits", name);
  }
});

test("GGUF: the tensor of Llama 3.1's scaling, and a file that has lost it", () =>
  withFolder(async (folder) => {
    const factors = Array.from({ length: 64 }, (_, pair) => (pair < 32 ? 1 : 8));
    await writeFile(join(folder, "whole.gguf"), llama([tensor("rope_freqs.weight", factors)]));
    await writeFile(join(folder, "lost.gguf"), llama([]));
    const codes = async (name) => (await diagnosed(join(folder, name))).findings.map(({ code }) => code);
    assert.ok(!(await codes("whole.gguf")).includes("rope-freqs-missing"));
    assert.ok((await codes("lost.gguf")).includes("rope-freqs-missing"));
    const { recipe } = await diagnosed(join(folder, "lost.gguf"), "--context", "200000");
    assert.match(recipe.blocks[0].text, /^llama-server -m lost\.gguf -c 200000/);
  }));

test("recurrent layers have no RoPE, and a state instead of keys", async () => {
  const config = fileURLToPath(new URL("../golden/tiny_models/qwen3_5/config.json", import.meta.url));
  const { stdout } = await ropewalk(["doctor", config]);
  assert.match(stdout, /^ {2}layers 2\n(.*\n)+? {2}recurrent, so without RoPE: layers 0–1, 3$/m);
  assert.match(
    stdout,
    /^ {2}and 7\.3 KiB for the states of recurrent layers at any length, in f32 \(Ropewalk: 73\.1 KiB, with copies to rewind to\)$/m,
  );
  const both = await ropewalk(["doctor", config.replace("qwen3_5", "falcon_h1")]);
  assert.match(both.stdout, /^ {2}recurrent beside attention: layers 0–2$/m);
  assert.ok(!both.stdout.includes("without RoPE"));
});

test("folders and addresses: config.json is enough", () =>
  withFolder(async (folder) => {
    await mkdir(join(folder, "model"));
    await writeFile(join(folder, "model", "config.json"), await readFile(qwen));
    assert.equal((await diagnosed(join(folder, "model"))).family, "qwen2");
    const asked = [];
    const server = createServer(async ({ url }, response) => {
      asked.push(url);
      if (!url.startsWith("/model/config.json")) return response.writeHead(404).end();
      const bytes = await readFile(qwen);
      response.writeHead(200, { "content-length": bytes.length }).end(bytes);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const address = `http://127.0.0.1:${server.address().port}/model/`;
      assert.equal((await diagnosed(address)).servedLength, 32768);
      assert.deepEqual([...new Set(asked)], ["/model/config.json"]);
    } finally {
      server.close();
    }
  }));

test("errors", () =>
  withFolder(async (folder) => {
    const broken = join(folder, "config.json");
    await writeFile(broken, "{");
    const fails = async (...words) => {
      const { status, stdout } = await ropewalk(["doctor", ...words, "--json"]);
      return [status, JSON.parse(stdout).error.code];
    };
    assert.deepEqual(await fails(broken), [1, "INVALID_FILE"]);
    assert.deepEqual(await fails(join(folder, "nowhere.gguf")), [1, "INVALID_FILE"]);
    assert.deepEqual(await fails(qwen, "--context", "0"), [2, "USAGE"]);
  }));

test("a GGUF file with the name of another format is read as GGUF, and a missing file is an error", () =>
  withFolder(async (folder) => {
    await writeFile(join(folder, "config.json"), JSON.stringify({ model_type: "qwen2", hidden_size: 64 }));
    await writeFile(join(folder, "model.safetensors"), llama([]));
    assert.equal((await diagnosed(join(folder, "model.safetensors"))).family, "llama");
    const { status, stderr } = await ropewalk(["doctor", join(folder, "other.safetensors")]);
    assert.equal(status, 1);
    assert.match(stderr, /other\.safetensors: .*no such file/);
  }));

test("the exit code is 1 if the file doesn't tell enough", () =>
  withFolder(async (folder) => {
    const file = join(folder, "config.json");
    for (const config of [{ rope_theta: 10000 }, { model_type: "qwen2", hidden_size: "x" }]) {
      await writeFile(file, JSON.stringify(config));
      const [shown, json] = [await ropewalk(["doctor", file]), await ropewalk(["doctor", file, "--json"])];
      assert.deepEqual([shown.status, json.status], [1, 1]);
      assert.match(shown.stdout, /Can't tell/);
      assert.equal(JSON.parse(json.stdout).verdict.status, "unknown");
    }
  }));
