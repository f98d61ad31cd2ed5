// What the program says about wrong uses of each command: in the words of the command line, and what to do instead.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { ropewalk, withFolder } from "./program.mjs";

const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const tiny = (name) => path(`tests/golden/tiny_models/${name}/`);
const qwen = path("examples/configs/qwen2.5-7b.json");
const small = path("examples/small_model/");
const encoder = path("examples/small_encoder/");
const ranker = path("examples/small_ranker/");
const story = path("LICENSE");

/** Words that only code has. */
const CODE = /\b\w+\(\)|\b[a-z]+[A-Z]\w*|overrides|token ids|: true|undefined/;

test("each message names options and arguments, and never fields or calls", async () => {
  const cases = [
    // a scaling
    [
      ["inspect", qwen, "--factor", "4"],
      /^error: --factor: rope_type default doesn't read this key; name one that does with --rope-type: linear, .*yarn/,
    ],
    [["inspect", qwen, "--rope-type", "linear"], /^error: --factor: is required/],
    [["inspect", qwen, "--rope-type", "longrope"], /^error: --set rope_scaling\.short_factor: must have/],
    [["inspect", qwen, "--set", "foo=1"], /^error: --set foo: is not a key/],
    [["inspect", qwen, "--set", "rope_scaling.foo=1"], /^error: --set rope_scaling\.foo: is not a key/],
    [
      ["plot", "ramp", qwen, "--scaling", "longrope"],
      /--scaling.*longrope isn't given by a factor alone; use --rope-type/,
    ],
    [["plot", "ramp", qwen, "--scaling", "llama3:8"], /--scaling.*llama3 isn't given by a factor alone/],
    [["inspect", tiny("llama"), "--layer-type", "x"], /^error: --layer-type: must be one of full_attention/],
    [["inspect", qwen, "--layer-type", "sliding_attention"], /^error: --layer-type: must be full_attention/],
    [["inspect", tiny("gemma3"), "--layer-type", "x"], /^error: --layer-type: must be one of .*full_attention/],
    [
      ["inspect", tiny("mamba"), "--layer-type", "mamba"],
      /^error: --layer-type: selects a RoPE, and this model has none/,
    ],
    [
      ["inspect", path("package.json")],
      /package\.json: is not a model's config\.json: .*pass the model's config\.json/,
    ],
    [["doctor", path("package.json")], /package\.json: is not a model's config\.json: .*pass the model's config\.json/],
    [["inspect", tiny("mamba"), "--theta", "5"], /^error: --theta: can't be used: this model has no RoPE/],
    // a model
    [["generate", small, "a", "--context", "99999999"], /^error: --context: must be an integer from 1 to/],
    [["generate", small, "a", "--top-p", "0"], /^error: --top-p: must be above 0/],
    [["generate", small, "a", "--penalty-window", "5"], /^error: --penalty-window: is used only with a penalty/],
    [
      ["generate", small, "a", "--logit-bias", "5=1", "--logit-bias", "5=2"],
      /--logit-bias .* is invalid\. Token 5 has a bias already/,
    ],
    [
      ["generate", small, "a", "--when-full", "shift", "--keep", "500"],
      /^error: --keep: must be below the context length, 256 \(got 500\)/,
    ],
    [
      ["generate", small, "a", "--keep", "5"],
      /^error: --keep: is only for texts that shift when the context is full; pass --when-full shift, or leave it out/,
    ],
    [["generate", small, "a", "--chat"], /chat_template: .*pass one with --chat-template, or leave out --chat/],
    [["generate", small, "a", "--chat-template", story], /^error: --chat-template: needs --chat/],
    [["chat", small], /chat_template: .*pass one with --chat-template, or use ropewalk generate/],
    [["chat", tiny("bert")], /bert is an encoder, which generates no text; use ropewalk embed/],
    [["generate", tiny("bert"), "a"], /bert is an encoder, which generates no text; use ropewalk embed/],
    [["perplexity", tiny("bert"), story], /bert is an encoder, which generates no text; use ropewalk embed/],
    [["bench", tiny("bert")], /bert is an encoder, which generates no text; use ropewalk embed/],
    [["embed", tiny("bert"), "a", ""], /^error: text 2: has no tokens; pass some text/],
    [
      ["embed", encoder, "a", "red ball ".repeat(70)],
      /^error: text 2: has 141 tokens.*pass --truncate, or raise --context/,
    ],
    [
      ["rank", ranker, "a"],
      /^error: --documents: is missing; name a file, or pass documents as arguments, or - for stdin/,
    ],
    [
      ["rank", ranker, "a", "b", "--documents", story],
      /^error: --documents: can't be used with documents as arguments/,
    ],
    [["rank", ranker, "a", "--documents", "nowhere.txt"], /^error: nowhere\.txt: no such file/],
    [["generate", "org/a-model.gguf", "a"], /no such file: \S*org\/a-model\.gguf \(INVALID_FILE\)$/m],
    [
      ["rank", ranker, "a", "b", "red ball ".repeat(200)],
      /^error: document 2: has \d+ tokens with the query.*pass --truncate/,
    ],
    [["rank", tiny("bert"), "a", "b"], /doesn't score pairs; use a cross-encoder, or use ropewalk embed/],
    [["rank", small, "a", "b"], /doesn't score pairs; use a cross-encoder, or use ropewalk embed/],
    [["generate", ranker, "a"], /is an encoder, which generates no text; use ropewalk rank/],
    [["embed", encoder, "a", "--dimensions", "1000"], /^error: --dimensions: must be an integer from 1 to 96/],
    [["embed", encoder, "a", "--prompt", "x"], /^error: --prompt: the model has none/],
  ];
  await Promise.all(
    cases.map(async ([words, expected]) => {
      const { status, stdout, stderr } = await ropewalk(words);
      const said = stderr.replaceAll(/^(warning: .*|Loading.*)\n/gm, "").replaceAll(path(""), "");
      assert.ok(status > 0, words.join(" "));
      assert.equal(stdout, "");
      assert.match(said, expected);
      assert.doesNotMatch(said.replace(/ \(\w+\)$/m, ""), CODE);
    }),
  );
});

test("an error in JSON has the option as its field", async () => {
  const { stdout } = await ropewalk(["embed", encoder, "a", "--dimensions", "1000", "--json"]);
  const { code, field, message } = JSON.parse(stdout).error;
  assert.deepEqual([code, field], ["INVALID_ARGUMENT", "--dimensions"]);
  assert.match(message, /^--dimensions: must be/);
});

test("a folder without a model is named, with what it lacks", () =>
  withFolder(async (folder) => {
    const empty = join(folder, "empty");
    await mkdir(empty);
    for (const command of ["inspect", "generate"]) {
      const { status, stderr } = await ropewalk([command, empty, ...(command === "generate" ? ["a"] : [])]);
      assert.equal(status, 1);
      assert.ok(stderr.startsWith(`error: ${empty}: the folder has no `), stderr);
      assert.match(
        stderr,
        command === "inspect" ? /no config\.json, and no \.gguf/ : /no \.gguf or \.safetensors file/,
      );
    }
  }));

test("an architecture that isn't supported: the nearest one and the page that lists all, in a line", () =>
  withFolder(async (folder) => {
    const file = join(folder, "config.json");
    await writeFile(file, JSON.stringify({ model_type: "qwen22", hidden_size: 64, num_attention_heads: 4 }));
    const { stdout } = await ropewalk(["inspect", file, "--pairing", "half"]);
    assert.match(
      stdout,
      /^Ropewalk can't run it: architecture qwen22 is not supported \(docs\/architectures\.md lists those that are\); did you mean qwen2\?$/m,
    );
  }));

test("a chat template from a file", () =>
  withFolder(async (folder) => {
    const file = join(folder, "template.jinja");
    await writeFile(file, "{% for message in messages %}{{ message.content }}{% endfor %} The red ball is in the");
    const asked = "The red ball is in the garden. Where is the red ball?";
    const words = ["generate", small, asked, "--chat", "--chat-template", file, "-n", "2", "--temperature", "0"];
    const { status, stdout } = await ropewalk(words);
    assert.deepEqual([status, stdout.trim()], [0, "garden."]);
    const missing = await ropewalk(["chat", small, "--chat-template", join(folder, "none")]);
    assert.match(missing.stderr, /^error: .*none: no such file/);
  }));

test("--session names a file that can be written, before anything is generated", () =>
  withFolder(async (folder) => {
    const nowhere = join(folder, "nowhere");
    for (const [file, message] of [
      ["", /^error: --session: is empty; name a file/],
      [folder, /^error: --session: .* is a folder; name a file/],
      [join(nowhere, "a.session"), /^error: --session: the folder .*nowhere doesn't exist; make it/],
    ]) {
      for (const words of [
        ["generate", small, "The"],
        ["chat", small],
      ]) {
        const { status, stdout, stderr } = await ropewalk([...words, "--session", file], { input: "hi\n" });
        assert.match(stderr, message);
        assert.deepEqual([status, stdout], [2, ""]);
      }
    }
  }));

test("the length of a context is --context in every command that has one", async () => {
  for (const command of ["inspect", "doctor", "plot frequencies", "table", "generate", "chat", "embed"]) {
    const { stdout } = await ropewalk([...command.split(" "), "--help"]);
    assert.match(stdout, /^ {2}--context <n>/m, command);
    assert.doesNotMatch(stdout, /--context-length|--seq-length|--original-length/, command);
    if (command !== "table") assert.doesNotMatch(stdout, /--length/, command);
  }
});

test("quantizing says which matrices have another format, whatever the case of the name", () =>
  withFolder(async (folder) => {
    // rows of 128 elements are half a block of q4_k
    const loaded = await ropewalk(["generate", small, "The", "-n", "1", "--quantize", "Q4_K"]);
    const warning = /^warning: q4_k needs rows of a multiple of 256 elements; matrices with others are in q5_0$/m;
    assert.match(loaded.stderr, warning);
    const copy = join(folder, "copy.gguf");
    const converted = await ropewalk(["convert", "quantize", small, copy, "--to", "q4_k"]);
    assert.match(converted.stderr, warning);
    const none = await ropewalk(["generate", small, "The", "-n", "1", "--quantize", "Q8_0"]);
    assert.deepEqual([none.status, /warning/.test(none.stderr)], [0, false]);
  }));

test("perplexity of a model without RoPE", async () => {
  const { status, stdout } = await ropewalk(["perplexity", tiny("mamba"), story, "--tokens", "20"]);
  assert.equal(status, 0);
  assert.match(stdout, /^own +[\d.]+ .* none$/m);
});

test("bench explains its lines", async () => {
  const { stdout } = await ropewalk(["bench", "--rounds", "1"]);
  assert.match(stdout, /rotation: .*GB\/s counts each of their bytes once/);
  assert.doesNotMatch(stdout, /prompt:/);
});
