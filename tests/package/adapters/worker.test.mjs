// LoRA adapters of models in a Worker.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { load } from "ropewalk/worker";
import { expectedOf, folderOf } from "../helpers/adapters.mjs";
import { largestDifference, tinyModel } from "../helpers/models.mjs";
import { inNewProcess } from "../helpers/processes.mjs";

let rw, model;
before(async () => {
  rw = await load();
  model = await rw.model(tinyModel("llama/"), { kv: { dtype: "f32" } });
});
after(() => rw.dispose());

const collect = async (pieces) => {
  const tokens = [];
  for await (const { token } of pieces) tokens.push(token);
  return tokens;
};

test("sessions, generations, perplexity and embeddings with adapters", async () => {
  const expected = expectedOf("llama_stack");
  const progress = [];
  const adapters = await Promise.all(
    expected.adapters.map(async ({ adapter, scale }) => ({
      adapter: await model.loadAdapter(`${folderOf(adapter)}/`, { onProgress: (at) => progress.push(at) }),
      scale,
    })),
  );
  assert.ok(progress.length > 0);
  const bytes = adapters.reduce((sum, { adapter }) => sum + adapter.info.bytes, 0);
  assert.equal(model.info.memory.adapters, bytes);
  const session = await model.session({ adapters });
  await session.append(expected.prompt);
  assert.ok(largestDifference([await session.logits()], expected.prompt_logits) < 1e-4);

  const options = { maxTokens: 8, temperature: 0, ignoreEnd: true };
  const tokens = await collect(session.generate(options));
  assert.deepEqual(await collect(model.generate(expected.prompt, { ...options, adapters })), tokens);
  assert.deepEqual(await collect(model.generateMany([expected.prompt], { ...options, adapters })), tokens);
  assert.notDeepEqual(await collect(model.generate(expected.prompt, options)), tokens);
  await assert.rejects(session.useAdapters([]), { code: "INVALID_ARGUMENT", field: "adapters" });
  await session.rewind(0);
  await session.useAdapters([adapters[0].adapter]);
  await session.append(expected.prompt);
  const { losses } = await model.perplexity(expected.prompt, { adapters: [adapters[0].adapter] });
  await session.rewind(10);
  assert.ok(Math.abs(losses[10] + (await session.logprobOf(expected.prompt[10]))) < 1e-5);
  const vector = await model.embed(expected.prompt.slice(0, 10), { adapters: [adapters[0].adapter], normalize: false });
  assert.ok(largestDifference([vector], [await session.hidden()]) < 1e-5);

  await adapters[0].adapter.dispose();
  await adapters[0].adapter.dispose();
  assert.equal(model.info.memory.adapters, adapters[1].adapter.info.bytes);
  await assert.rejects(session.append([5]), { code: "DISPOSED", field: "adapter" });
  await assert.rejects(model.session({ adapters }), { code: "DISPOSED", field: "adapter" });
  await session.dispose();
  await adapters[1].adapter.dispose();
});

test("what isn't an adapter of the same Worker, and files that fail", async () => {
  const other = await load();
  try {
    const foreign = await (await other.model(tinyModel("llama/"))).loadAdapter(`${folderOf("llama_all")}/`);
    for (const wrong of [foreign, {}, { adapter: foreign }, "adapter/"])
      await assert.rejects(model.session({ adapters: [wrong] }), {
        code: "INVALID_ARGUMENT",
        field: "adapters[0]",
        message: /same Worker/,
      });
  } finally {
    await other.dispose();
  }
  await assert.rejects(model.session({ adapters: 5 }), { code: "INVALID_ARGUMENT", field: "adapters" });
  await assert.rejects(model.loadAdapter(tinyModel("llama/model.gguf")), { code: "INVALID_FILE" });
  assert.equal(model.info.memory.adapters, 0);
  const adapter = await model.loadAdapter(`${folderOf("llama_all")}/`);
  await assert.rejects(model.session({ adapters: [{ adapter, scale: NaN }] }), { field: "adapters[0].scale" });
  await adapter.dispose();
});

// Adapters and draft models that only the Worker's objects hold: garbage collection disposes of those that nobody can use any more.
test("an adapter or a draft isn't collected while a session, a fork or a generation uses it", async () => {
  const program = `
  import { load } from "ropewalk/worker";
  import { setTimeout as sleep } from "node:timers/promises";
  const rw = await load();
  const open = () => rw.model(${JSON.stringify(tinyModel("llama/"))});
  const model = await open();
  const adapter = () => model.loadAdapter(${JSON.stringify(`${folderOf(expectedOf("llama_stack").adapters[0].adapter)}/`)});
  const collect = async () => { for (let i = 0; i < 5; i++) { gc(); await sleep(10); } };
  const options = { maxTokens: 6, temperature: 0, ignoreEnd: true };
  const outcomes = {};
  const attempt = async (name, act) => {
    try { await act(); outcomes[name] = "done"; } catch (error) { outcomes[name] = error.code + " " + error.field; }
  };
  const slowly = (pieces) => async () => { for await (const _ of pieces) await collect(); };

  const opened = await (async () => model.session({ adapters: [await adapter()] }))();
  const set = await (async () => {
    const session = await model.session();
    await session.useAdapters([{ adapter: await adapter(), scale: 2 }]);
    return session;
  })();
  const fork = await (async () => {
    const session = await model.session({ adapters: [await adapter()] });
    const copy = await session.fork();
    await session.dispose();
    return copy;
  })();
  await collect();
  for (const [name, session] of Object.entries({ opened, set, fork })) await attempt(name, () => session.append([5, 6, 7]));
  await attempt("generate", slowly(model.generate([5, 6], { ...options, adapters: [await adapter()] })));
  await attempt("generateMany", slowly(model.generateMany([[5, 6], [7]], { ...options, adapters: [await adapter()] })));
  await attempt("draft", slowly(opened.generate({ ...options, draft: await open() })));
  await attempt("embed", async () => {
    const call = model.embed(Array.from({ length: 50 }, () => "a".repeat(90)), { adapters: [await adapter()] });
    await collect();
    await call;
  });
  console.log(JSON.stringify(outcomes));
  await rw.dispose();`;
  const done = ["opened", "set", "fork", "generate", "generateMany", "draft", "embed"].map((name) => [name, "done"]);
  const outcomes = JSON.parse(await inNewProcess(program, ["--expose-gc"]));
  assert.deepEqual(outcomes, Object.fromEntries(done));
});
