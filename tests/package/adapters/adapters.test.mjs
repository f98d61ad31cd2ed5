// LoRA adapters: the logits of PEFT and of llama.cpp, alone, scaled and stacked, and what sessions do with them.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { largestDifference } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";
import { adaptersIn, expectedOf, folderOf, GOLDEN } from "../helpers/adapters.mjs";
import { withTinyModel } from "../helpers/tiny_models.mjs";

// f32 against f64, as in parity.test.mjs. llama.cpp is within 1e-5 of PEFT.
const LIMIT = 1e-4;
const withModel = (path, use) => withTinyModel(rw, path, use);

/** Logits at the last token of the prompt, then at each step. */
async function logitsWith(model, { prompt, steps }, adapters) {
  const session = model.session({ adapters });
  await session.append(prompt);
  const logits = [session.logits()];
  for (const step of steps) {
    await session.append([step]);
    logits.push(session.logits());
  }
  session.dispose();
  return logits;
}

/** Loads the adapters of an expectation, from the files that `fileOf` names. */
const load = (model, { adapters }, fileOf) =>
  Promise.all(
    adapters.map(async ({ adapter, scale }) => ({ adapter: await model.loadAdapter(fileOf(adapter)), scale })),
  );
const peftFolder = (name) => `${folderOf(name)}/`;
const ggufFile = (name) => join(folderOf(name), "adapter.gguf");

for (const name of adaptersIn("expected.json")) {
  const expected = expectedOf(name);
  const reference = [...expected.prompt_logits, ...expected.step_logits];
  test(`${name}: PEFT's logits`, () =>
    withModel(expected.model, async (model) => {
      const adapters = await load(model, expected, peftFolder);
      const difference = largestDifference(await logitsWith(model, expected, adapters), reference);
      assert.ok(difference < LIMIT, `${difference}`);
      const without = largestDifference(await logitsWith(model, expected, []), reference);
      assert.ok(without > 0.1, `the adapter hardly changes the model: ${without}`);
    }));
}

for (const name of adaptersIn("expected_llama_cpp.json")) {
  const expected = expectedOf(name);
  const { logits: theirs } = expectedOf(name, "expected_llama_cpp.json");
  // each format of an adapter with each format of its model
  for (const file of ["", "/model.gguf"])
    for (const [kind, fileOf] of [
      ["GGUF", ggufFile],
      ["PEFT", peftFolder],
    ])
      test(`${name}, ${kind}, on ${file === "" ? "safetensors" : "GGUF"}: llama.cpp's logits`, () =>
        withModel(`${expected.model}${file}`, async (model) => {
          const adapters = await load(model, expected, fileOf);
          const difference = largestDifference(await logitsWith(model, expected, adapters), theirs);
          assert.ok(difference < LIMIT, `${difference}`);
        }));
}

test("several sessions of a model use different adapters by turns, and the model stays as it was", () =>
  withModel("llama", async (model) => {
    const expected = expectedOf("llama_all");
    const before = await logitsWith(model, expected, []);
    const adapter = await model.loadAdapter(peftFolder("llama_all"));
    const [plain, adapted] = [model.session(), model.session({ adapters: [adapter] })];
    await plain.append(expected.prompt);
    await adapted.append(expected.prompt);
    const logits = [[plain.logits()], [adapted.logits()]];
    for (const step of expected.steps)
      for (const [i, session] of [plain, adapted].entries()) {
        await session.append([step]);
        logits[i].push(session.logits());
      }
    assert.deepEqual(logits[0], before);
    assert.deepEqual(logits[1], await logitsWith(model, expected, [{ adapter, scale: 1 }]));
    assert.deepEqual(await logitsWith(model, expected, [{ adapter, scale: 0 }]), before);
    adapter.dispose();
    assert.deepEqual(await logitsWith(model, expected, []), before);
    plain.dispose();
    adapted.dispose();
  }));

test("generation, perplexity, embeddings, forks, rewinds and guesses use the adapters", () =>
  withModel("llama", async (model) => {
    const adapter = await model.loadAdapter(peftFolder("llama_all"));
    const adapters = [{ adapter, scale: 2 }];
    const prompt = expectedOf("llama_all").prompt;
    const options = { maxTokens: 12, temperature: 0, ignoreEnd: true };
    const tokensOf = async (pieces) => {
      const tokens = [];
      for await (const piece of pieces) tokens.push(piece.token);
      return tokens;
    };
    const session = model.session({ adapters });
    await session.append(prompt);
    const fork = session.fork();
    const tokens = await tokensOf(session.generate(options));
    assert.deepEqual(await tokensOf(model.generate(prompt, { ...options, adapters })), tokens);
    assert.deepEqual(await tokensOf(fork.generate({ ...options, promptLookup: 4 })), tokens);
    session.rewind(prompt.length);
    assert.deepEqual(await tokensOf(session.generate(options)), tokens);
    assert.notDeepEqual(await tokensOf(model.generate(prompt, options)), tokens);
    assert.deepEqual(fork.adapters, [{ adapter, scale: 2 }]);

    const { losses } = await model.perplexity(prompt, { adapters });
    session.rewind(20);
    assert.ok(Math.abs(losses[20] + session.logprobOf(prompt[20])) < 1e-5);
    const vector = await model.embed(prompt.slice(0, 20), { adapters, normalize: false });
    assert.ok(largestDifference([vector], [session.hidden()]) < 1e-5);
    assert.ok(largestDifference([await model.embed(prompt.slice(0, 20), { normalize: false })], [vector]) > 0.05);
    session.dispose();
    fork.dispose();
  }));

test("sessions with other adapters generate at the same time, each as if it were alone", () =>
  withModel("llama", async (model) => {
    const { prompt } = expectedOf("llama_all");
    const [all, attention] = [
      await model.loadAdapter(peftFolder("llama_all")),
      await model.loadAdapter(peftFolder("llama_attention")),
    ];
    const options = { maxTokens: 10, temperature: 0, ignoreEnd: true };
    const lists = [[], [all], [{ adapter: all, scale: 1 }], [attention], [{ adapter: all, scale: 2 }, attention]];
    const tokensOf = async (adapters) => {
      const tokens = [];
      for await (const { token } of model.generate(prompt, { ...options, adapters })) tokens.push(token);
      return tokens;
    };
    const alone = [];
    for (const adapters of lists) alone.push(await tokensOf(adapters));
    assert.deepEqual(await Promise.all(lists.map(tokensOf)), alone);
    assert.deepEqual(alone[1], alone[2]);
    assert.equal(new Set(alone.map(String)).size, 4);
    const many = [[], []];
    for await (const { index, token } of model.generateMany([prompt, prompt], { ...options, adapters: lists[4] }))
      many[index].push(token);
    assert.deepEqual(many, [alone[4], alone[4]]);
  }));

test("the adapters of a session change only while it's empty", () =>
  withModel("llama", async (model) => {
    const expected = expectedOf("llama_all");
    const adapter = await model.loadAdapter(peftFolder("llama_all"));
    const session = model.session();
    session.useAdapters([adapter]);
    await session.append(expected.prompt);
    assert.throws(() => session.useAdapters([]), {
      code: "INVALID_ARGUMENT",
      field: "adapters",
      message: /can't change: the session has 48 tokens.*rewind\(0\)/,
    });
    const adapted = session.logits();
    session.rewind(0);
    session.useAdapters([]);
    await session.append(expected.prompt);
    assert.ok(largestDifference([session.logits()], [adapted]) > 0.1);
    session.dispose();
  }));

test("saved sessions fit only the adapters and scales that they were saved with", () =>
  withModel("llama", async (model) => {
    const { prompt } = expectedOf("llama_all");
    const adapter = await model.loadAdapter(peftFolder("llama_all"));
    const same = await model.loadAdapter(peftFolder("llama_all"));
    const other = await model.loadAdapter(peftFolder("llama_attention"));
    const session = model.session({ adapters: [{ adapter, scale: 0.5 }] });
    await session.append(prompt);
    const bytes = session.save();
    const copy = model.session({ adapters: [{ adapter: same, scale: 0.5 }] });
    copy.restore(bytes);
    assert.deepEqual(copy.logits(), session.logits());
    const wrong = { code: "INVALID_BYTES", field: "bytes", message: /was saved with other adapters/ };
    for (const adapters of [[], [adapter], [{ adapter: other, scale: 0.5 }], [{ adapter, scale: 0.5 }, other]]) {
      const strange = model.session({ adapters });
      assert.throws(() => strange.restore(bytes), wrong);
      assert.equal(strange.length, 0);
      strange.dispose();
    }
    session.dispose();
    copy.dispose();
  }));

test("memory, info and disposal", () =>
  withModel("llama", async (model) => {
    const { prompt } = expectedOf("llama_all");
    assert.equal(model.info.memory.adapters, 0);
    const adapter = await model.loadAdapter(peftFolder("llama_all"));
    const { info } = adapter;
    assert.equal(info.rank, 4);
    assert.equal(info.kind, "safetensors");
    assert.equal(info.bytes, 4 * info.parameters);
    assert.equal(info.targets.length, 14);
    assert.ok(info.targets.includes("model.layers.1.mlp.down_proj.weight"));
    assert.equal(model.info.memory.adapters, info.bytes);
    const session = model.session({ adapters: [adapter] });
    await session.append(prompt);
    const logits = session.logits();
    adapter.dispose();
    adapter.dispose();
    assert.equal(model.info.memory.adapters, 0);
    assert.deepEqual(session.logits(), logits);
    const disposed = { code: "DISPOSED", field: "adapter", message: /model\.loadAdapter\(\)/ };
    await assert.rejects(session.append([5]), disposed);
    assert.equal(session.length, prompt.length);
    assert.throws(() => model.session({ adapters: [adapter] }), disposed);
    session.dispose();
    await withModel("llama", async (second) => {
      const foreign = await second.loadAdapter(peftFolder("llama_all"));
      assert.throws(() => model.session({ adapters: [foreign] }), {
        code: "INVALID_ARGUMENT",
        field: "adapters[0]",
        message: /another model/,
      });
    });
  }));

test("files that a page passes in", () =>
  withModel("llama", async (model) => {
    const expected = expectedOf("llama_all");
    const files = await Promise.all(
      ["adapter_config.json", "adapter_model.safetensors"].map(
        async (name) => new File([await readFile(join(folderOf("llama_all"), name))], name),
      ),
    );
    const adapters = [await model.loadAdapter(files)];
    const reference = [...expected.prompt_logits, ...expected.step_logits];
    assert.ok(largestDifference(await logitsWith(model, expected, adapters), reference) < LIMIT);
    const bytes = new Uint8Array(await readFile(ggufFile("llama_all")));
    await assert.rejects(model.loadAdapter(bytes.subarray(0, 3000)), { code: "INVALID_FILE" });
    await assert.rejects(model.loadAdapter(files[1]), {
      code: "INVALID_FILE",
      field: "adapter_config.json: file",
      message: /An adapter in safetensors needs it/,
    });
    await assert.rejects(model.loadAdapter(join(GOLDEN, "tiny_models", "llama", "model.gguf")), {
      code: "INVALID_FILE",
      field: "model.gguf: general.type",
      message: /this file is no adapter/,
    });
    await assert.rejects(rw.model(ggufFile("llama_all")), {
      code: "UNSUPPORTED_MODEL",
      field: "adapter.gguf: general.type",
      message: /load its base model, and then this as an adapter/,
    });
  }));

for (const [what, adapters, field] of [
  ["no list", {}, "adapters"],
  ["no adapter", [{}], "adapters[0]"],
  ["a path", ["adapter/"], "adapters[0]"],
])
  test(`options: ${what}`, () =>
    withModel("llama", (model) => {
      assert.throws(() => model.session({ adapters }), { code: "INVALID_ARGUMENT", field });
    }));

test("options: scales and repeated adapters", () =>
  withModel("llama", async (model) => {
    const adapter = await model.loadAdapter(ggufFile("llama_attention"));
    const session = (adapters) => model.session({ adapters });
    assert.throws(() => session([{ adapter, scale: NaN }]), { code: "INVALID_ARGUMENT", field: "adapters[0].scale" });
    assert.throws(() => session([{ adapter, scales: 2 }]), { code: "UNKNOWN_KEY", field: "adapters[0].scales" });
    assert.throws(() => session([adapter, adapter]), { code: "INVALID_ARGUMENT", field: "adapters[1]" });
    await assert.rejects(model.loadAdapter("adapter/", { chached: "none" }), { code: "UNKNOWN_KEY" });
  }));

test("a hook that disposes of an adapter of its session ends the call, and one of another doesn't change it", () =>
  withModel("llama", async (model) => {
    const load = () => model.loadAdapter(ggufFile("llama_attention"));
    const [own, other] = [await load(), await load()];
    const prompt = [5, 6, 7];
    const session = model.session({ adapters: [own] });
    await session.append(prompt);
    const logits = session.logits();
    session.rewind(0);
    session.onLayer((layer) => {
      if (layer === 1) other.dispose();
    });
    await session.append(prompt);
    assert.deepEqual(session.logits(), logits);
    session.onLayer((layer) => {
      if (layer === 1) own.dispose();
    });
    await assert.rejects(session.append([8]), { code: "DISPOSED", field: "adapter" });
    assert.deepEqual(session.tokens, prompt);
    session.dispose();
    const plain = model.session();
    await plain.append(prompt);
    assert.notDeepEqual(plain.logits(), logits);
    plain.dispose();
  }));
