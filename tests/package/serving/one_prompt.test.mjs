// A chat has one prompt, whoever reads it: generate(), generateMany(), promptTokens() and OpenAI's shapes, here and in a Worker.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openai } from "ropewalk/openai";
import { load as loadWorker } from "ropewalk/worker";
import { tinyModel } from "../helpers/models.mjs";
import { build, rw } from "../helpers/runtime.mjs";

const chatTemplate = `{{ flavor or '' }}{% for m in messages if m.role in ['user', 'assistant'] %}{{ m.content }};{% endfor %}`;
const system = { role: "system", content: "the dog" };
const user = { role: "user", content: "the cat" };
const inWorker = await loadWorker({ build });
after(() => inWorker.dispose());

async function first(pieces) {
  for await (const { token, index = 0 } of pieces) return [token, index];
}

for (const [place, runtime] of [
  ["this thread", rw],
  ["a Worker", inWorker],
]) {
  const warnings = [];
  const onWarning = (message) => warnings.push(message);
  const taken = () => warnings.splice(0);

  test(`the same prompt, warnings and errors, in ${place}`, async () => {
    const model = await runtime.model(tinyModel("llama"), { chatTemplate, onWarning });
    const client = openai(model);
    taken();
    const create = (messages) => client.chat.completions.create({ messages, max_tokens: 1, temperature: 0 });
    const options = { maxTokens: 1, temperature: 0 };
    const calls = {
      promptTokens: (messages) => model.promptTokens(messages),
      generate: (messages) => first(model.generate(messages, options)),
      generateMany: (messages) => first(model.generateMany([messages], options)),
      openai: create,
    };
    try {
      const text = "the dog\nthe cat;";
      assert.equal(await model.renderChat([system, user]), text);
      const tokens = await model.promptTokens([system, user]);
      const [token] = await first(model.generate(tokens, options));
      assert.deepEqual(await calls.generate([system, user]), [token, 0]);
      assert.deepEqual(await calls.generateMany([system, user]), [token, 0]);
      assert.equal((await create([system, user])).usage.prompt_tokens, tokens.length);
      assert.deepEqual(taken(), []);

      const lost = [system, user, { role: "tool", content: "it rains" }];
      for (const [name, call] of Object.entries(calls)) {
        const field = name === "generateMany" ? /^prompts\[0\]: messages\[2\]\.content$/ : /^messages\[2\]\.content$/;
        await assert.rejects(call(lost), (error) => {
          assert.equal(error.code, "INVALID_ARGUMENT", name);
          assert.match(error.field, field);
          return true;
        });
        await call([{ ...user, name: "Anna" }]);
        assert.match(taken().join(), /^messages\[0\]\.name: [^,]*, so[^,]*$/, name);
      }
      await model.renderChat(lost);
      assert.match(taken().join(), /^messages\[2\]\.content: /);

      const chosen = { ...options, variables: { flavor: "sweet" } };
      const sweet = await model.promptTokens([user], { variables: chosen.variables });
      assert.notDeepEqual(Array.from(sweet), Array.from(await model.promptTokens([user])));
      assert.deepEqual(await first(model.generate([user], chosen)), await first(model.generate(sweet, options)));
      const own = [];
      for await (const _ of model.generate([{ ...user, name: "Anna" }], { ...options, onWarning: (one) => own.push(one) })); // prettier-ignore
      assert.deepEqual([own.length, taken().length], [1, 0]);
      for (const prompt of [[user], "the cat"])
        await assert.rejects(first(model.generate(prompt, { templateName: "rag" })), { field: "templateName" });
      const many = first(model.generateMany(["a", [user]], { templateName: "rag" }));
      await assert.rejects(many, { code: "INVALID_ARGUMENT" });
      const plain = await model.promptTokens("the<s>cat", { parseSpecial: false });
      const asText = await first(model.generate("the<s>cat", { ...options, parseSpecial: false }));
      assert.deepEqual(asText, await first(model.generate(plain, options)));
    } finally {
      client.dispose();
      await model.dispose();
    }
  });
}
