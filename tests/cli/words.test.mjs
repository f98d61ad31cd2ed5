// The same failing calls through the API, a Worker, the command line, the server and the AI SDK: one problem and one advice, each in its words.
import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { embed, generateText } from "ai";
import { load } from "ropewalk";
import { createRopewalk } from "ropewalk/ai-sdk";
import { load as loadWorker } from "ropewalk/worker";
import { ropewalk } from "./program.mjs";
import { post, serving } from "./server.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

const tiny = (name) => fileURLToPath(new URL(`../golden/tiny_models/${name}`, import.meta.url));
const LONG = "a ".repeat(200).trim();
const thrownBy = (promise) => promise.then(() => assert.fail("no error"), (error) => error); // prettier-ignore

/** The error that the server of a model answers. */
async function answerOf(source, path, body) {
  let error;
  await serving([], async ({ address }) => ({ error } = await (await post(address, path, body)).json()), {}, source);
  return error;
}

test("a text that is too long to embed", async () => {
  const rw = await load();
  const encoder = await rw.model(tiny("bert"));
  const error = await thrownBy(encoder.embed(LONG));
  const problem = `has 399 tokens, more than the model's ${encoder.info.contextLength}`;
  const advice = { do: "other", words: "split it", or: { do: "pass", option: "truncate", value: "true" } };
  assert.equal(error.problem, problem);
  assert.deepEqual(error.advice, advice);
  assert.equal(error.message, `text: ${problem}; split it, or pass truncate: true`);

  const worker = await loadWorker();
  const remote = await thrownBy((await worker.model(tiny("bert"))).embed(LONG));
  assert.deepEqual([remote.name, remote.code, remote.message], ["RopewalkError", error.code, error.message]);
  assert.deepEqual([remote.problem, remote.advice], [problem, advice]);
  await worker.dispose();

  const model = createRopewalk(encoder).embeddingModel();
  const sdk = await thrownBy(embed({ model, value: LONG }));
  assert.equal(sdk.message, `values[0]: ${problem}; split it, or pass providerOptions.ropewalk.truncate: true`);
  assert.deepEqual(sdk.advice, advice);
  encoder.dispose();

  const { stderr } = await ropewalk(["embed", tiny("bert"), LONG]);
  assert.equal(stderr.trim().split("\n").at(-1), `error: text 1: ${problem}; split it, or pass --truncate (INVALID_ARGUMENT)`); // prettier-ignore

  const answer = await answerOf([tiny("bert")], "/v1/embeddings", { input: LONG });
  assert.deepEqual([answer.message, answer.param], [`input: ${problem}; split it, or pass truncate: true`, "input"]);
});

test("a chat of a model that has no chat template", async () => {
  const rw = await load();
  const model = await rw.model(tiny("llama"));
  const messages = [{ role: "user", content: "a" }];
  const problem = `${model.info.name}: chat_template: the model has no chat template`;
  const says = async (promise) => (await thrownBy(promise)).message;
  assert.equal(
    await says(model.renderChat(messages)),
    `${problem}; load the model with the option \`chatTemplate\`, or pass the prompt as text`,
  );
  const provider = createRopewalk(model);
  assert.equal(
    await says(generateText({ model: provider.languageModel(), prompt: "a", maxRetries: 0 })),
    `${problem}; load the model with the option \`chatTemplate\``,
  );
  model.dispose();
  const { stderr } = await ropewalk(["chat", tiny("llama")]);
  assert.match(stderr, /the model has no chat template; pass one with --chat-template, or use ropewalk generate \(/);
  const answer = await answerOf([tiny("llama")], "/v1/chat/completions", { messages });
  assert.equal(answer.message, `${problem}; start the server with --chat-template, or use /v1/completions`);
});

test("a prompt that is longer than the context", async () => {
  const rw = await load();
  const model = await rw.model(tiny("llama"), { contextLength: 4 });
  const prompt = [1, 2, 3, 4, 5, 6];
  const error = await thrownBy(model.generate(prompt).next());
  assert.deepEqual(error.advice, { do: "raise", option: "contextLength" });
  assert.equal(error.message, "prompt: 6 tokens don't fit into a context of 4; use a larger contextLength");
  const warnings = [];
  const long = { contextLength: 100_000, onWarning: (...given) => warnings.push(given) };
  (await rw.model(tiny("llama"), long)).dispose();
  model.dispose();
  const [[message, warning]] = warnings;
  assert.equal(warning.code, "CONTEXT_TOO_LONG");
  const { factor, window } = warning.advice;
  assert.deepEqual(warning.advice, { do: "extend", rope_type: "yarn", factor, window });
  const extended = `extend it with rope_type yarn and factor ${factor}, or with position_map { type: "rerope", window: ${window} }`;
  assert.equal(message, `${warning.problem}; ${extended}`);
  const { stderr } = await ropewalk(["generate", tiny("llama"), "a", "-n", "1", "--context", "100000"]);
  assert.ok(
    stderr.includes(
      `warning: ${warning.problem}; extend it with --rope-type yarn --factor ${factor}, or with --position-map rerope:${window}\n`,
    ),
    stderr,
  );
  const answer = await answerOf([tiny("llama"), "--context", "4"], "/v1/completions", { prompt });
  assert.match(
    answer.message,
    /^prompt: .*the context length is 4; send less, or start the server with a larger --context$/,
  );
});

test("the command line names what the user gave", async () => {
  const llama = tiny("llama/model.gguf");
  const config = fileURLToPath(new URL("../../examples/configs/llama-3.1-8b.json", import.meta.url));
  for (const [words, field] of [
    [["generate", llama, "hi", "--dry", "1", "--dry-window", "99999999999"], "--dry-window"],
    [["generate", llama, "hi", "--dry", "1", "--dry-breaker", "zzqq"], "--dry-breaker"],
    [["inspect", config, "--trained-length", "100000000000"], "--trained-length"],
    [["inspect", config, "--theta", "1e300"], "--theta"],
    [["inspect", config, "--set", "rope_theta=abc"], "--set rope_theta"],
    [["inspect", config, "--set", "rope_scaling.factor=x"], "--set rope_scaling.factor"],
    [["--hub", "ftp://x", "inspect", "org/name:q4_0"], "--hub"],
  ]) {
    const { stdout } = await ropewalk([...words, "--json"]);
    assert.equal(JSON.parse(stdout).error.field, field, words.join(" "));
  }
});
