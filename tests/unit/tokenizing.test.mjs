// Many texts, and long ones, are tokenized without holding the thread, and a signal ends it.
import assert from "node:assert/strict";
import test from "node:test";
import { tinyModelBytes } from "../../examples/make_tiny_model.mjs";
import { rw } from "../package/helpers/runtime.mjs";
import { tinyModel } from "../package/helpers/models.mjs";

const many = Array.from({ length: 60_000 }, (_, i) => `rope ${i} yarn`);
const long = "rope yarn ".repeat(150_000);

/** Aborts a call as soon as it lets another task run, which it does first while it tokenizes. */
async function aborted(call) {
  const controller = new AbortController();
  const reason = new Error("enough");
  setImmediate(() => controller.abort(reason));
  let batches = 0;
  await assert.rejects(
    call({ signal: controller.signal, onProgress: () => (batches += 1) }),
    (error) => error === reason,
  );
  assert.equal(batches, 0, "it ended while texts were tokenized");
}

test("embed() and rank() of many texts", async () => {
  const encoder = await rw.model(tinyModel("bert"));
  await aborted((options) => encoder.embed(many, options));
  await aborted((options) => encoder.embed(Array(30).fill(long), { truncate: true, ...options }));
  encoder.dispose();
  const ranker = await rw.model(tinyModel("bert_ranker"));
  await aborted((options) => ranker.rank("a rope", many, options));
  ranker.dispose();
});

test("append(), generate() and perplexity() of a long text", async () => {
  const model = await rw.model(tinyModelBytes(), { contextLength: 2 ** 22 });
  const session = model.session();
  await aborted((options) => session.append(long, options));
  assert.equal(session.length, 0);
  session.dispose();
  await aborted(({ signal }) => model.generate(long, { signal }).next());
  await aborted(({ signal }) => model.generateMany(["a", long], { signal }).next());
  await aborted((options) => model.perplexity(long, options));
  model.dispose();
});

test("a text far longer than the context is refused before it is merged, and says so", async () => {
  const model = await rw.model(tinyModelBytes(), { contextLength: 64 });
  const session = model.session();
  await assert.rejects(session.append("e\u0301".repeat(500_000)), {
    code: "CACHE_FULL",
    message: /^tokens: \d+ or more tokens don't fit into a context of 64; /,
  });
  await session.append("rope");
  await assert.rejects(session.append("rope".repeat(20)), {
    code: "CACHE_FULL",
    message: /^tokens: \d+ more tokens don't fit: \d of 64 are used/,
  });
  session.dispose();
  model.dispose();
  const encoder = await rw.model(tinyModel("bert"));
  await assert.rejects(encoder.embed(["rope", long]), {
    field: "texts[1]",
    message: /^texts\[1\]: has \d+ or more tokens, more than the model's \d+; split it/,
  });
  const cut = await encoder.embed([long.slice(0, 4000), long], { truncate: true });
  assert.deepEqual(cut[0], cut[1]);
  encoder.dispose();
});
