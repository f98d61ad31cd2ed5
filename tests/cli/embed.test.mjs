// `ropewalk embed`: vectors of texts as text and as JSON, and errors with their exit codes.
import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { ropewalk } from "./program.mjs";

const model = fileURLToPath(new URL("../golden/tiny_models/gemma_embedding/", import.meta.url));
const ranker = fileURLToPath(new URL("../golden/tiny_models/bert_ranker/", import.meta.url));
const decoder = fileURLToPath(new URL("../golden/tiny_models/llama/", import.meta.url));

async function vectorsOf(texts, options) {
  const opened = await (await load()).model(model);
  try {
    return (await opened.embed(texts, options)).map((vector) => Array.from(vector));
  } finally {
    opened.dispose();
  }
}

test("--json prints the vectors of model.embed()", async () => {
  const { status, stdout } = await ropewalk(["embed", model, "the cat", "a rope", "--json"]);
  assert.equal(status, 0);
  const { embeddings, ...used } = JSON.parse(stdout);
  const defaults = { pooling: "mean", normalize: true, dimensions: 24, prompt: "document" };
  assert.deepEqual(used, { model: "model.safetensors", ...defaults });
  assert.deepEqual(
    embeddings.map(({ text }) => text),
    ["the cat", "a rope"],
  );
  assert.deepEqual(
    embeddings.map(({ vector }) => vector),
    await vectorsOf(["the cat", "a rope"]),
  );
});

test("pooling, dimensions, prompt and normalization are those of the flags", async () => {
  const flags = ["--pooling", "max", "--dimensions", "5", "--prompt", "query", "--no-normalize"];
  const { stdout } = await ropewalk(["embed", model, "the cat", "--json", ...flags]);
  const options = { pooling: "max", dimensions: 5, prompt: "query", normalize: false };
  assert.deepEqual(JSON.parse(stdout).embeddings[0].vector, (await vectorsOf(["the cat"], options))[0]);
  const without = await ropewalk(["embed", model, "the cat", "--json", "--no-prompt"]);
  const [expected] = await vectorsOf(["the cat"], { prompt: null });
  assert.deepEqual(JSON.parse(without.stdout).embeddings[0].vector, expected);
});

test("stderr says how the vectors were made: by the flags, or by the model's files", async () => {
  const said = async (...words) => (await ropewalk(["embed", model, "the cat", ...words])).stderr;
  const prompts = { document: "title, none! text, ", query: "task, search! query, " };
  assert.equal(
    await said(),
    `pooling mean; normalized; 24 dimensions; prompt document: ${JSON.stringify(prompts.document)}\n`,
  );
  assert.equal(
    await said("--pooling", "cls", "--dimensions", "5", "--prompt", "query", "--no-normalize"),
    `pooling cls; not normalized; 5 of 24 dimensions; prompt query: ${JSON.stringify(prompts.query)}\n`,
  );
  assert.match(await said("--no-prompt", "--json"), /; no prompt \(the model has document, query\)\n$/);
  const { stderr } = await ropewalk(["embed", decoder, "the cat"]);
  assert.equal(stderr, "pooling last; not normalized; 32 dimensions; no prompt\n");
  assert.match((await ropewalk(["embed", ranker, "the cat"])).stderr, /^warning: a cross-encoder .* ropewalk rank /);
});

test("the lines of stdin stand in the place of -, once", async () => {
  const { stdout } = await ropewalk(["embed", model, "a", "-", "d", "--json"], { input: "b\nc\n" });
  assert.deepEqual(
    JSON.parse(stdout).embeddings.map(({ text }) => text),
    ["a", "b", "c", "d"],
  );
  const twice = await ropewalk(["embed", model, "-", "-"], { input: "b\n" });
  assert.equal(twice.status, 2);
  assert.match(twice.stderr, /^error: -: reads stdin, so it can stand among the texts only once/);
});

test("each line of stdin is a text, an empty one too", async () => {
  const words = ["embed", model, "-", "--json"];
  const textsOf = async (input) => JSON.parse((await ropewalk(words, { input })).stdout).embeddings;
  const expected = await vectorsOf(["the cat", "", "a rope"]);
  for (const input of ["the cat\n\na rope\n", "the cat\r\n\r\na rope"]) {
    const embeddings = await textsOf(input);
    assert.deepEqual(
      embeddings.map(({ text }) => text),
      ["the cat", "", "a rope"],
    );
    assert.deepEqual(
      embeddings.map(({ vector }) => vector),
      expected,
    );
  }
  const nothing = await ropewalk(["embed", model, "-"], { input: "" });
  assert.deepEqual(
    [nothing.status, nothing.stderr],
    [2, "error: stdin: is empty; pass a text in each line (INVALID_ARGUMENT)\n"],
  );
  const empty = await ropewalk(["embed", model, "-", "--no-prompt"], { input: "the cat\n\n" });
  assert.match(empty.stderr, /^error: text 2: has no tokens; pass some text/);
});

test("a table with the cosine of each text and the first", async () => {
  const { status, stdout } = await ropewalk(["embed", decoder, "the cat", "the cat", "a rope"]);
  assert.equal(status, 0);
  assert.match(
    stdout,
    /^ *cosine +vector of 32 +text\n.*\n *1\.0000 .* the cat\n *1\.0000 .* the cat\n-?0\.\d{4} .* a rope\n$/,
  );
});

test("errors name the flag or the text, with their exit codes", async () => {
  const unknown = await ropewalk(["embed", model, "the cat", "--prompt", "qeury"]);
  assert.equal(unknown.status, 2);
  assert.match(unknown.stderr, /prompt: must be one of .*query.* \(got "qeury"\)/);
  for (const flags of [
    ["--prompt", "query", "--no-prompt"],
    ["--no-prompt", "--prompt", "query"],
  ]) {
    const both = await ropewalk(["embed", model, "the cat", ...flags]);
    assert.deepEqual([both.status, both.stdout], [2, ""]);
    assert.match(both.stderr, /^error: --prompt can't be used with --no-prompt\n/);
  }
  const pooling = await ropewalk(["embed", model, "the cat", "--pooling", "avg"]);
  assert.equal(pooling.status, 2);
  const long = await ropewalk(["embed", model, "the cat ".repeat(40)]);
  assert.equal(long.status, 2);
  assert.match(long.stderr, /^error: text 1: has \d+ tokens, more than the model's 96; split it, pass --truncate/m);
  assert.equal((await ropewalk(["embed", model, "the cat ".repeat(40), "--truncate"])).status, 0);
});

test("--normalize divides vectors by their length, whatever the model's files say", async () => {
  const model = fileURLToPath(new URL("../golden/tiny_models/llama", import.meta.url));
  const lengthWith = async (...flags) => {
    const { stdout } = await ropewalk(["embed", model, "the cat", "--json", ...flags]);
    const { normalize, embeddings } = JSON.parse(stdout);
    return [normalize, Math.hypot(...embeddings[0].vector)];
  };
  const [normalizes, length] = await lengthWith("--normalize");
  assert.equal(normalizes, true);
  assert.ok(Math.abs(length - 1) < 1e-6);
  for (const flags of [[], ["--no-normalize"]]) {
    const [plain, other] = await lengthWith(...flags);
    assert.equal(plain, false);
    assert.ok(Math.abs(other - 1) > 0.1);
  }
  const { status, stderr } = await ropewalk(["embed", model, "the cat", "--normalize", "--no-normalize"]);
  assert.equal(status, 2);
  assert.match(stderr, /--normalize can't be used with --no-normalize/);
});
