// The sampling options of `ropewalk generate` give what those of the package give.
import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { ropewalk } from "./program.mjs";

const llama = fileURLToPath(new URL("../golden/tiny_models/llama", import.meta.url));
const OPEN = ["--temperature", "2", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "3", "-n", "20"];
const open = { temperature: 2, topK: 0, topP: 1, minP: 0, seed: 3, maxTokens: 20 };

const run = (...flags) => ropewalk(["generate", llama, "over there", ...flags, "--json"]);
const rw = await load();
const model = await rw.model(llama);

async function expected(options) {
  const tokens = [];
  for await (const { token } of model.generate("over there", options)) tokens.push(token);
  return tokens;
}

// prettier-ignore
const CASES = [
  [["--frequency-penalty", "3"], { frequencyPenalty: 3 }],
  [["--presence-penalty", "3", "--penalty-window", "4"], { presencePenalty: 3, penaltyWindow: 4 }],
  [["--dry", "9", "--dry-base", "3", "--dry-allowed-length", "1", "--dry-window", "30", "--dry-breaker", "a", "--dry-breaker", "e"],
    { dry: { multiplier: 9, base: 3, allowedLength: 1, window: 30, breakers: ["a", "e"] } }],
  [["--typical-p", "0.3"], { typicalP: 0.3 }],
  [["--top-n-sigma", "0.5"], { topNSigma: 0.5 }],
  [["--xtc", "1", "--xtc-threshold", "0.01"], { xtc: { probability: 1, threshold: 0.01 } }],
  [["--top-p", "0.3", "--sampler-order", "llama.cpp"], { topP: 0.3, samplerOrder: "llama.cpp" }],
  [["--logit-bias", "7=9.5", "--logit-bias", "8=-inf"], { logitBias: { 7: 9.5, 8: -Infinity } }],
];

test("each option changes the tokens as in the package", async () => {
  const plain = await expected(open);
  for (const [flags, options] of CASES) {
    const { tokens } = JSON.parse((await run(...OPEN, ...flags)).stdout);
    assert.deepEqual(tokens, await expected({ ...open, ...options }), flags.join(" "));
    assert.notDeepEqual(tokens, plain, flags.join(" "));
  }
});

test("--mirostat, with and without a target", async () => {
  const few = ["-n", "20", "--seed", "3", "--temperature", "2"];
  const settings = { seed: 3, temperature: 2, maxTokens: 20 };
  const { tokens } = JSON.parse((await run(...few, "--mirostat", "2", "--mirostat-eta", "0.3")).stdout);
  assert.deepEqual(tokens, await expected({ ...settings, mirostat: { tau: 2, eta: 0.3 } }));
  assert.deepEqual(
    JSON.parse((await run(...few, "--mirostat")).stdout).tokens,
    await expected({ ...settings, mirostat: {} }),
  );
});

test("--prompt-lookup gives the same text", async () => {
  const flags = ["-n", "60", "--temperature", "0", "--logit-bias", "7=9"];
  const plain = JSON.parse((await run(...flags)).stdout);
  assert.deepEqual(JSON.parse((await run(...flags, "--prompt-lookup", "15")).stdout).tokens, plain.tokens);
  assert.match((await ropewalk(["generate", llama, "a", "--prompt-lookup", "64"])).stderr, /from 0 to 63/);
});

test("--seed names its largest value", async () => {
  const { status, stderr } = await ropewalk(["generate", llama, "a", "--seed", "9007199254740992"]);
  assert.equal(status, 2);
  assert.match(stderr, /from 0 to 9007199254740991/);
});

test("--draft gives the same text", async () => {
  const flags = ["-n", "30", "--temperature", "0", "--logit-bias", "7=9"];
  const plain = JSON.parse((await run(...flags)).stdout);
  for (const more of [[], ["--draft-tokens", "3"]])
    assert.deepEqual(JSON.parse((await run(...flags, "--draft", llama, ...more)).stdout).tokens, plain.tokens);
  const message = async (...more) => (await ropewalk(["generate", llama, "a", ...more])).stderr;
  assert.match(await message("--draft-tokens", "3"), /--draft-tokens: needs --draft/);
  assert.match(await message("--draft", "nowhere.gguf"), /nowhere\.gguf/);
  assert.match(await message("--draft", llama, "--draft-tokens", "64"), /from 1 to 63/);
});

test("errors name the option of the command line", async () => {
  for (const [flags, message] of [
    [["--dry-base", "2"], /--dry-base: needs --dry/],
    [["--xtc-threshold", "0.2"], /--xtc-threshold: needs --xtc/],
    [["--mirostat-eta", "0.2"], /--mirostat-eta: needs --mirostat/],
    [["--mirostat", "--top-k", "5"], /--top-k: isn't used with mirostat/],
    [["--logit-bias", "7"], /Must be a token id and a number/],
    [["--logit-bias", "9999=1"], /--logit-bias: must have tokens of the vocabulary, 0 to 63/],
    [["--dry", "1", "--dry-breaker", "zzzzzz"], /"zzzzzz" isn't part of any token/],
    [["--frequency-penalty", "1e9"], /--frequency-penalty: must be from -1e6 to 1e6/],
  ]) {
    const { status, stderr } = await ropewalk(["generate", llama, "over there", ...flags]);
    assert.match(stderr, message);
    assert.equal(status, 2, stderr);
  }
});
