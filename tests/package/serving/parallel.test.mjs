// Calls that run at the same time: each has the answer that it has alone, and what sessions have read isn't read again.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { openai } from "ropewalk/openai";
import { load as loadWorker } from "ropewalk/worker";
import { readFileSync } from "node:fs";
import { tinyModel } from "../helpers/models.mjs";
import { build, rejects, rw } from "../helpers/runtime.mjs";

const chatTemplate = `{% for message in messages %}{{ message.content }}{% endfor %}`;
const inWorker = await loadWorker({ build });
after(() => inWorker.dispose());
const tokenizer = JSON.parse(readFileSync(tinyModel("llama/tokenizer.json"), "utf8"));
const words = Object.keys(tokenizer.model.vocab).filter((word) => /^[a-z]+$/.test(word));
/** A text of about `count` tokens. */
const text = (seed, count) =>
  Array.from({ length: count }, (_, i) => words[(seed * 7 + i * (3 + seed)) % words.length]).join("");
const ask = (client, prompt, more) =>
  client.completions.create({ prompt, max_tokens: 12, temperature: 1, seed: 4, ...more });
const textsOf = (answers) => answers.map(({ choices }) => choices.map(({ text }) => text));
const cached = ({ usage }) => usage.prompt_tokens_details.cached_tokens;

for (const [place, runtime] of [
  ["this thread", rw],
  ["a Worker", inWorker],
]) {
  const open = () => runtime.model(tinyModel("llama"), { chatTemplate, contextLength: 512 });

  test(`calls at the same time have the answers that they have alone, in ${place}`, async () => {
    const model = await open();
    const prompts = [1, 2, 3, 4, 5, 6].map((seed) => text(seed, 8 + seed));
    const one = openai(model);
    const alone = [];
    for (const prompt of prompts) alone.push(await ask(one, prompt, { n: 2 }));
    for (const parallel of [1, 2, 4, 8]) {
      const client = openai(model, { parallel });
      const together = await Promise.all(prompts.map((prompt) => ask(client, prompt, { n: 2 })));
      assert.deepEqual(textsOf(together), textsOf(alone), `${parallel} at the same time`);
      client.dispose();
    }
    one.dispose();
    await model.dispose();
  });

  test(`chats that take turns keep their sessions, and a common beginning is copied, in ${place}`, async () => {
    const model = await open();
    const client = openai(model, { parallel: 2 });
    const [first, second] = [text(1, 60), text(2, 60)];
    const one = await ask(client, first);
    const two = await ask(client, second);
    assert.ok(cached(two) < 10);
    const more = " " + text(3, 4);
    const [again, other] = [await ask(client, first + more), await ask(client, second + more)];
    for (const [answer, before] of [
      [again, one],
      [other, two],
    ])
      assert.ok(cached(answer) > before.usage.prompt_tokens / 2, `${cached(answer)} of ${answer.usage.prompt_tokens}`);
    client.dispose();

    const fresh = openai(model, { parallel: 3 });
    const common = text(4, 80);
    const answers = [];
    for (const seed of [5, 6, 7]) answers.push(await ask(fresh, `${common} ${text(seed, 90)}`));
    assert.equal(cached(answers[0]), 0);
    for (const answer of answers.slice(1))
      assert.ok(cached(answer) >= 32, `${cached(answer)} tokens of the common beginning`);
    fresh.dispose();
    await model.dispose();
  });
}

test("a call that is aborted leaves the others their answers", async () => {
  const model = await rw.model(tinyModel("llama"), { chatTemplate, contextLength: 512 });
  const client = openai(model, { parallel: 3 });
  const prompts = [1, 2, 3].map((seed) => text(seed, 10));
  const alone = [];
  for (const prompt of prompts) alone.push(await ask(client, prompt));
  const controller = new AbortController();
  const calls = prompts.map((prompt, i) => {
    if (i !== 1) return ask(client, prompt);
    return (async () => {
      for await (const chunk of await client.completions.create(
        { prompt, max_tokens: 300, stream: true },
        { signal: controller.signal },
      ))
        if (chunk.choices.length > 0) controller.abort(new Error("enough"));
    })();
  });
  const [first, second, third] = await Promise.allSettled(calls);
  assert.equal(second.reason.message, "enough");
  assert.deepEqual(textsOf([first.value, third.value]), textsOf([alone[0], alone[2]]));
  client.dispose();
  model.dispose();
});

for (const [place, runtime] of [
  ["this thread", rw],
  ["a Worker", inWorker],
])
  test(`all calls use the adapters of a client, in ${place}`, async () => {
    const model = await runtime.model(tinyModel("llama"), { chatTemplate });
    const adapter = await model.loadAdapter(tinyModel("../adapters/llama_all"));
    const adapters = [{ adapter, scale: -2 }];
    const wanted = { text: "", texts: await model.embed(["the cat"], { adapters }) };
    const options = { temperature: 0, maxTokens: 12, adapters };
    for await (const piece of model.generate("the cat", options)) wanted.text += piece.text;
    const client = openai(model, { adapters, parallel: 2 });
    const answers = await Promise.all([1, 2].map(() => ask(client, "the cat", { temperature: 0 })));
    for (const { choices } of answers) assert.equal(choices[0].text, wanted.text);
    const plain = openai(model);
    assert.notEqual((await ask(plain, "the cat", { temperature: 0 })).choices[0].text, wanted.text);
    const { data } = await client.embeddings.create({ input: "the cat" });
    assert.deepEqual(data[0].embedding, [...wanted.texts[0]]);
    await rejects((async () => openai(model, { adapters: adapter }))(), "INVALID_ARGUMENT", "adapters");
    client.dispose();
    plain.dispose();
    await model.dispose();
  });

test("parallel is checked", async () => {
  const model = await rw.model(tinyModel("llama"), { chatTemplate });
  for (const parallel of [0, 33, 1.5, "4"])
    await rejects((async () => openai(model, { parallel }))(), "INVALID_ARGUMENT", "parallel");
  await rejects((async () => openai(model, { sessions: 4 }))(), "UNKNOWN_KEY", "sessions");
  model.dispose();
});
