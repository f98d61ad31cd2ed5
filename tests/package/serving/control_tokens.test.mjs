// The served text is that of generate(): control tokens add nothing to it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openai } from "ropewalk/openai";
import { load as loadWorker } from "ropewalk/worker";
import { tinyModel } from "../helpers/models.mjs";
import { build, rw } from "../helpers/runtime.mjs";

const chatTemplate = "{% for message in messages %}{{ message.content }}{% endfor %}";
const messages = [{ role: "user", content: "the cat" }];

const inWorker = await loadWorker({ build });
after(() => inWorker.dispose());

for (const [place, runtime] of [
  ["this thread", rw],
  ["a Worker", inWorker],
])
  test(`chats and continuations, in ${place}`, async () => {
    const model = await runtime.model(tinyModel("llama"), { chatTemplate });
    const client = openai(model);
    try {
      const { beginToken } = model.tokenizer;
      let all = 0;
      for (const bias of [5, 25, 100]) {
        const settings = { temperature: 1, seed: 7, logit_bias: { [beginToken]: bias }, max_tokens: 20 };
        const options = { temperature: 1, seed: 7, logitBias: { [beginToken]: bias }, maxTokens: 20 };
        let text = "";
        for await (const piece of model.generate("the cat", options)) {
          text += piece.text;
          if (piece.token === beginToken) all += 1;
        }
        const { choices } = await client.completions.create({ prompt: "the cat", ...settings, logprobs: 0 });
        assert.equal(choices[0].text, text);
        const { tokens, text_offset: offsets } = choices[0].logprobs;
        assert.equal(tokens.length, 20);
        for (const [i, offset] of offsets.entries())
          if (tokens[i] === "<s>" && i + 1 < offsets.length) assert.equal(offsets[i + 1], offset);
        const chat = await client.chat.completions.create({ messages, ...settings });
        assert.ok(!chat.choices[0].message.content.includes("<s>"), chat.choices[0].message.content);
      }
      assert.ok(all > 20, `${all} control tokens`);
    } finally {
      client.dispose();
      await model.dispose();
    }
  });

test("a text's control tokens are text with parseSpecial: false", async () => {
  for (const runtime of [rw, inWorker]) {
    const model = await runtime.model(tinyModel("llama"), { chatTemplate });
    const [asText, asTokens] = [openai(model, { parseSpecial: false }), openai(model)];
    try {
      const { beginToken } = model.tokenizer;
      const begins = (tokens) => Array.from(tokens).filter((token) => token === beginToken).length;
      const text = "the<s>cat";
      const plain = await model.promptTokens(text, { parseSpecial: false });
      const special = await model.promptTokens(text);
      assert.deepEqual([begins(plain), begins(special)], [0, 1]);
      const body = { prompt: text, max_tokens: 1 };
      assert.equal((await asText.completions.create(body)).usage.prompt_tokens, plain.length);
      assert.equal((await asTokens.completions.create(body)).usage.prompt_tokens, special.length);
    } finally {
      asText.dispose();
      asTokens.dispose();
      await model.dispose();
    }
  }
});
