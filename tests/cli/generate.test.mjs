// `ropewalk generate`: text, JSON, options, Ctrl-C and errors.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { tinyModelBytes } from "../../examples/make_tiny_model.mjs";
import { ropewalk, withFolder } from "./program.mjs";

const llama = fileURLToPath(new URL("../golden/tiny_models/llama", import.meta.url));

/** Generates with the package itself. */
async function generated(source, prompt, options, modelOptions) {
  const rw = await load();
  const model = await rw.model(source, modelOptions);
  try {
    const pieces = [];
    for await (const piece of model.generate(prompt, options)) pieces.push(piece);
    return {
      text: pieces.map(({ text }) => text).join(""),
      tokens: pieces.map(({ token }) => token),
      finish: pieces.at(-1).finish,
    };
  } finally {
    model.dispose();
  }
}

const withTinyModel = (use) =>
  withFolder(async (folder) => {
    const path = join(folder, "tiny.gguf");
    await writeFile(path, tinyModelBytes());
    await use(path, folder);
  });

test("a piped prompt has no line break at its end, as one in quotes", async () => {
  const prompt = "the cat\nthe dog";
  const run = async (argument, input) => {
    const flags = ["generate", llama, argument, "-n", "8", "--temperature", "0", "--json"];
    const { text, prompt } = JSON.parse((await ropewalk(flags, { input })).stdout);
    return { text, tokens: prompt.tokens };
  };
  const expected = await run(prompt);
  for (const end of ["", "\n", "\r\n"]) assert.deepEqual(await run("-", prompt + end), expected, JSON.stringify(end));
  assert.notDeepEqual(await run("-", `${prompt}\n\n`), expected); // only one goes
});

test("--kv stores keys and values in another type, and --ignore-end goes on after an end token", async () => {
  const flags = ["generate", llama, "the cat", "-n", "40", "--temperature", "0", "--json"];
  const run = async (...more) => JSON.parse((await ropewalk([...flags, ...more])).stdout);
  const [own, f32, q4] = [await run(), await run("--kv", "f32"), await run("--kv", "q4_0")];
  assert.ok(f32.context.bytes > own.context.bytes);
  const expected = await generated(llama, "the cat", { maxTokens: 40, temperature: 0 }, { kv: { dtype: "q4_0" } });
  assert.deepEqual(q4.tokens, expected.tokens);
  const { endTokens } = (await (await load()).model(llama)).tokenizer;
  const bias = ["--logit-bias", `${endTokens[0]}=1000`];
  const ended = await run(...bias);
  assert.deepEqual([ended.tokens.length, ended.finish], [1, "end"]);
  const goesOn = await run(...bias, "--ignore-end");
  assert.deepEqual([goesOn.tokens.length, goesOn.finish], [40, "length"]);
  const { status, stderr } = await ropewalk(["generate", llama, "a", "--kv", "q9"]);
  assert.equal(status, 2);
  assert.match(stderr, /f32, f16, bf16, q8_0, q4_0, q4_channel/);
});

test("--logprobs shows each token with the most probable ones", async () => {
  const flags = ["generate", llama, "the cat", "-n", "5", "--seed", "3", "--logprobs", "4"];
  const rw = await load();
  const model = await rw.model(llama);
  const pieces = [];
  for await (const piece of model.generate("the cat", { maxTokens: 5, seed: 3, logprobs: 4 })) pieces.push(piece);
  const { logprobs, tokens } = JSON.parse((await ropewalk([...flags, "--json"])).stdout);
  assert.deepEqual(
    tokens,
    logprobs.map(({ token }) => token),
  );
  for (const [i, { token, logprob, alternatives }] of pieces.entries()) {
    const text = model.tokenizer.decode([token], { skipSpecial: false });
    assert.deepEqual(logprobs[i], { token, text, logprob, alternatives }, `${i}`);
  }
  model.dispose();
  const { stderr } = await ropewalk(flags);
  const [head, , first] = stderr.split("\n");
  assert.match(head, /token +text +probability +most probable/);
  const { token, text, alternatives } = logprobs[0];
  assert.ok(first.includes(`${token}  ${JSON.stringify(text)}`), first);
  assert.ok(
    first.includes(`${JSON.stringify(alternatives[3].text)} ${(100 * Math.exp(alternatives[3].logprob)).toFixed(1)} %`),
  );
});

test("--keep holds the first tokens of a text that shifts", async () => {
  const flags = ["generate", llama, "the quick cat", "-n", "60", "--seed", "3", "--json"];
  const shift = ["--when-full", "shift", "--context", "24"];
  const run = async (...more) => JSON.parse((await ropewalk([...flags, ...shift, ...more])).stdout).tokens;
  const options = { maxTokens: 60, seed: 3, whenFull: "shift", keep: 6 };
  const expected = await generated(llama, "the quick cat", options, { contextLength: 24 });
  assert.deepEqual(await run("--keep", "6"), expected.tokens);
  assert.notDeepEqual(await run(), expected.tokens);
});

test("--quantize says that it rounds nothing of a quantized file", async () => {
  const quantized = fileURLToPath(new URL("../golden/tiny_models/llama_q4_0/model.gguf", import.meta.url));
  for (const words of [
    ["generate", quantized, "a", "-n", "1"],
    ["inspect", quantized],
  ]) {
    const { stderr, status } = await ropewalk([...words, "--quantize", "q8_0"]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^warning: --quantize rounds weights in f32, f16 or bf16; these are in q4_0.* and stay so$/m);
    assert.doesNotMatch((await ropewalk(words)).stderr, /warning/);
  }
  assert.doesNotMatch((await ropewalk(["inspect", llama, "--quantize", "q8_0"])).stderr, /rounds weights/);
});

test("the text goes to stdout, without colors when piped, and the summary to stderr", async () => {
  const { status, stdout, stderr } = await ropewalk(["generate", llama, "the cat", "-n", "12", "--seed", "5"]);
  assert.equal(stdout, `${(await generated(llama, "the cat", { maxTokens: 12, seed: 5 })).text}\n`);
  assert.match(
    stderr,
    /^prompt \d+ tokens \([\d.,]+ tokens\/s\); 12 generated \([\d.,]+ tokens\/s\), finish reason length; context \d+ of 128; RoPE plain, base 1,000; seed 5\n$/,
  );
  assert.ok(!`${stdout}${stderr}`.includes("\x1b"));
  assert.equal(status, 0);
});

test("--json is one object, and its seed reproduces the text", async () => {
  const first = JSON.parse(
    (await ropewalk(["generate", llama, "-", "-n", "9", "--temperature", "1.5", "--json"], { input: "the dog" }))
      .stdout,
  );
  const count = first.tokens.length;
  const hasEnd = first.finish === "end"; // the random seed may draw the end token, which isn't part of the session
  assert.ok(hasEnd ? count <= 9 : count === 9 && first.finish === "length");
  assert.deepEqual([first.prompt.tokens, first.context.length], [5, 128]);
  assert.equal(first.context.tokens, 5 + count - (hasEnd ? 1 : 0));
  assert.ok(first.generation.tokensPerSecond > 0);
  assert.equal(first.rope.rope_theta, 1000);
  const again = JSON.parse(
    (
      await ropewalk([
        "generate",
        llama,
        "the dog",
        "-n",
        "9",
        "--temperature",
        "1.5",
        "--json",
        "--seed",
        String(first.seed),
      ])
    ).stdout,
  );
  assert.deepEqual(again.tokens, first.tokens);
  assert.deepEqual(
    again.tokens,
    (await generated(llama, "the dog", { maxTokens: 9, temperature: 1.5, seed: first.seed })).tokens,
  );
});

test("every option is passed to the model", async () => {
  const words = [
    "-n",
    "20",
    "--temperature",
    "2",
    "--top-k",
    "12",
    "--top-p",
    "0.9",
    "--min-p",
    "0.5",
    "--repetition-penalty",
    "1.3",
    "--seed",
    "3",
  ];
  const rope = ["--rope-type", "yarn", "--factor", "4", "--theta", "500", "--context", "300"];
  const options = { maxTokens: 20, temperature: 2, topK: 12, topP: 0.9, minP: 0.5, repetitionPenalty: 1.3, seed: 3 };
  const overrides = { rope_theta: 500, rope_scaling: { rope_type: "yarn", factor: 4 } };
  const { stdout } = await ropewalk(["generate", llama, "over there", ...words, ...rope, "--json"]);
  const shown = JSON.parse(stdout);
  const expected = await generated(llama, "over there", options, { rope: overrides, contextLength: 300 });
  assert.deepEqual({ text: shown.text, tokens: shown.tokens, finish: shown.finish }, expected);
  assert.deepEqual(
    [shown.rope.rope_theta, shown.rope.rope_scaling.rope_type, shown.context.length],
    [500, "yarn", 300],
  );
});

test("each sampling option changes the text", async () => {
  const open = { "--temperature": 2, "--top-k": 0, "--top-p": 1, "--min-p": 0, "--repetition-penalty": 1, "--seed": 3 };
  const tokens = async (flags) =>
    JSON.parse(
      (
        await ropewalk([
          "generate",
          llama,
          "over there",
          "-n",
          "20",
          "--json",
          ...Object.entries(flags).flat().map(String),
        ])
      ).stdout,
    ).tokens;
  const plain = await tokens(open);
  for (const [name, value] of Object.entries({
    "--temperature": 0.5,
    "--top-k": 5,
    "--top-p": 0.5,
    "--min-p": 0.5,
    "--repetition-penalty": 2,
    "--seed": 4,
  })) {
    assert.notDeepEqual(await tokens({ ...open, [name]: value }), plain, name);
  }
});

test("several stop strings, which aren't printed", async () => {
  const { text } = await generated(llama, "the", { maxTokens: 40, seed: 2 });
  const [early, late] = [text.slice(8, 10), text.slice(20, 22)];
  const { stdout, stderr } = await ropewalk([
    "generate",
    llama,
    "the",
    "-n",
    "40",
    "--seed",
    "2",
    "--stop",
    late,
    "--stop",
    early,
  ]);
  assert.equal(stdout, `${text.slice(0, text.indexOf(early))}\n`);
  assert.match(stderr, /finish reason stop/);
});

test("a full context stops the text, is shifted, or is extended", async () => {
  const run = async (policy) =>
    JSON.parse(
      (
        await ropewalk([
          "generate",
          llama,
          "the end",
          "--context",
          "20",
          "-n",
          "50",
          "--temperature",
          "0",
          "--when-full",
          policy,
          "--json",
        ])
      ).stdout,
    );
  const [stopped, shifted, extended] = [await run("stop"), await run("shift"), await run("extend")];
  assert.deepEqual([stopped.finish, stopped.context.tokens], ["full", 20]);
  assert.deepEqual([shifted.finish, shifted.tokens.length, shifted.context.length], ["length", 50, 20]);
  assert.deepEqual([extended.finish, extended.tokens.length, extended.context.length], ["length", 50, 80]);
});

test("a chat with the model's template", () =>
  withTinyModel(async (path) => {
    const { stdout } = await ropewalk([
      "generate",
      path,
      "the rope",
      "--chat",
      "--system",
      "the sea",
      "--seed",
      "1",
      "-n",
      "8",
      "--json",
    ]);
    const messages = [
      { role: "system", content: "the sea" },
      { role: "user", content: "the rope" },
    ];
    assert.deepEqual(JSON.parse(stdout).tokens, (await generated(path, messages, { maxTokens: 8, seed: 1 })).tokens);
  }));

test("Ctrl-C ends the text and keeps what was printed", async () => {
  const endless = ["generate", llama, "the", "-n", "1000000", "--when-full", "shift", "--temperature", "0"];
  const text = await ropewalk(endless, { until: (stdout) => stdout.length > 30 });
  assert.equal(text.status, 130);
  assert.ok(text.stdout.length > 30 && text.stdout.endsWith("\n"));
  assert.match(text.stderr, /finish reason interrupted/);
});

test("a warning about a context longer than the RoPE supports, and about no other", async () => {
  const warning = async (...words) =>
    (await ropewalk(["generate", llama, "the", "-n", "1", ...words])).stderr.match(/warning: .*/)?.[0];
  assert.equal(
    await warning("--context", "400"),
    "warning: a context of 400 tokens is longer than the 128 this RoPE supports; extend it with --rope-type yarn --factor 4, or with --position-map rerope:64",
  );
  assert.equal(await warning("--context", "128"), undefined);
  assert.equal(await warning("--context", "400", "--rope-type", "yarn", "--factor", "4"), undefined);
  assert.equal(await warning("--context", "400", "--rope-type", "dynamic", "--factor", "2"), undefined);
  assert.equal(
    await warning("--context", "256", "--rope-type", "yarn", "--factor", "2", "--draft", llama),
    "warning: --draft: a context of 256 tokens is longer than the 128 this RoPE supports, so it guesses worse beyond",
  );
  const compared = ["perplexity", llama, fileURLToPath(import.meta.url), "--tokens", "400", "--window", "256"];
  assert.match((await ropewalk(compared)).stderr, /warning: a context of 256/);
  assert.doesNotMatch((await ropewalk([...compared, "--scaling", "yarn:2"])).stderr, /warning/);
});

for (const [name, words, status, message] of [
  ["a missing file", ["nowhere.gguf", "the"], 1, /^error: nowhere\.gguf: .*(INVALID_FILE)/],
  ["no prompt", [llama], 2, /^error: missing required argument 'prompt'/],
  [
    "an unknown option",
    [llama, "the", "--max-token", "3"],
    2,
    /^error: unknown option '--max-token'\n.*Did you mean --max-tokens\?/,
  ],
  [
    "a number of tokens that isn't a number",
    [llama, "the", "-n", "few"],
    2,
    /^error: option '-n, --max-tokens <n>' argument 'few' is invalid\. Must be an integer/,
  ],
  [
    "a temperature below 0",
    [llama, "the", "--temperature", "-1"],
    2,
    /^error: option '-t, --temperature <number>' argument '-1' is invalid/,
  ],
  ["top-p above 1", [llama, "the", "--top-p", "1.5"], 2, /argument '1\.5' is invalid\. Must be a number from 0 to 1/],
  ["a policy that does not exist", [llama, "the", "--when-full", "wait"], 2, /Allowed choices are stop, shift, extend/],
  [
    "a prompt longer than the context",
    [llama, "the ".repeat(100)],
    2,
    /^error: prompt: has \d+ tokens, but the context length is 128; use --context \d+ or more/,
  ],
  ["a system message without a chat", [llama, "the", "--system", "be brief"], 2, /^error: --system: needs --chat/],
  [
    "a chat with a model that has no template",
    [llama, "the", "--chat"],
    1,
    /^error: model\.safetensors: chat_template: the model has no chat template; pass one with --chat-template, or leave out --chat/,
  ],
  [
    "YaRN without a factor",
    [llama, "the", "--rope-type", "yarn"],
    2,
    /^error: --factor: is required for --rope-type yarn/,
  ],
  ["an invalid RoPE", [llama, "the", "--rope-type", "linear"], 1, /^error: --factor: is required: /],
]) {
  test(`refused: ${name}`, async () => {
    const result = await ropewalk(["generate", ...words]);
    assert.match(result.stderr, message);
    assert.deepEqual([result.status, result.stdout], [status, ""]);
    const asJson = await ropewalk(["generate", ...words, "--json"]);
    assert.equal(asJson.status, status);
    assert.deepEqual(Object.keys(JSON.parse(asJson.stdout).error).sort(), ["code", "field", "message"]);
  });
}

test("refused: an empty prompt for a model without begin token, and a truncated file", () =>
  withTinyModel(async (path, folder) => {
    const empty = await ropewalk(["generate", path, ""]);
    assert.match(empty.stderr, /^error: prompt: is empty, and this model has no begin token/);
    assert.equal(empty.status, 2);
    const cut = join(folder, "cut.gguf");
    await writeFile(cut, (await readFile(path)).subarray(0, 60000));
    const damaged = await ropewalk(["generate", cut, "the"]);
    assert.match(damaged.stderr, /^error: cut\.gguf: .*download it again \(INVALID_FILE\)/);
    assert.equal(damaged.status, 1);
  }));
