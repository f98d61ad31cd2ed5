// session.onLayer() and session.steer(): changes of the residual between layers.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk/worker";
import { sameBits } from "../helpers/arrays.mjs";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { build, raises, rejects, rw } from "../helpers/runtime.mjs";

async function withSession(name, use) {
  const model = await rw.model(tinyModel(name), { kv: { dtype: "f32" }, contextLength: 1024 });
  try {
    await use(model.session(), readExpected(name, "expected.json").prompt, model);
  } finally {
    model.dispose();
  }
}

for (const name of ["llama", "lfm2", "rwkv7"]) {
  test(`${name}: a hook that changes nothing sees every layer, and the logits have the same bits`, () =>
    withSession(name, async (session, prompt, model) => {
      const plain = model.session();
      await plain.append(prompt);
      const { hidden } = await model.session().trace(prompt, { what: ["hidden"] });
      const seen = [];
      session.onLayer((layer, residual, first) => {
        seen.push(layer);
        assert.equal(first, 0);
        if (layer in hidden && layer < model.info.layers.length) sameBits(residual, hidden[layer].data);
      });
      await session.append(prompt);
      assert.deepEqual(
        seen,
        Array.from({ length: model.info.layers.length + 1 }, (_, i) => i),
      );
      sameBits(session.logits(), plain.logits());
    }));

  test(`${name}: what a hook throws is thrown, and the batch isn't read`, () =>
    withSession(name, async (session, prompt, model) => {
      const plain = model.session();
      for (const one of [plain, session]) await one.append(prompt);
      const logits = session.logits();
      session.onLayer((layer) => {
        if (layer === 1) throw new Error("not now");
      });
      await assert.rejects(session.append([5, 6]), /not now/);
      await assert.rejects(session.trace([5, 6]), /not now/);
      assert.equal(session.length, prompt.length);
      sameBits(session.logits(), logits);
      session.onLayer(undefined);
      for (const one of [plain, session]) await one.append([5, 6]);
      sameBits(session.logits(), plain.logits());
    }));
}

test("a steering vector is what a hook adds, also in forks, while generating, and in the Worker", () =>
  withSession("llama", async (session, prompt, model) => {
    const { data, shape } = (await model.session().trace(prompt, { what: ["hidden"] })).hidden[1];
    const vector = data.slice(0, shape[1]);
    const [plain, steered] = [model.session(), model.session()];
    await plain.append(prompt);
    steered.steer([{ layer: 1, vector, scale: 2 }]);
    session.onLayer((layer, residual) =>
      layer === 1 ? residual.map((value, i) => value + Math.fround(2 * vector[i % vector.length])) : undefined,
    );
    for (const one of [session, steered]) await one.append(prompt);
    sameBits(steered.logits(), session.logits());
    assert.ok(largestDifference([steered.logits()], [plain.logits()]) > 1e-3);
    const trace = await steered.fork().trace([3]);
    const other = await session.fork().trace([3]);
    sameBits(trace.logits.data, other.logits.data);

    const texts = [];
    for (const one of [steered, session]) {
      const ids = [];
      for await (const { id } of one.generate({ maxTokens: 6, temperature: 0, promptLookup: 4 })) ids.push(id);
      texts.push(ids);
    }
    assert.deepEqual(texts[0], texts[1]);

    const there = await load({ build });
    const far = await (await there.model(tinyModel("llama"), { kv: { dtype: "f32" } })).session();
    await far.steer([{ layer: 1, vector, scale: 2 }]);
    await far.append(prompt);
    steered.rewind(prompt.length);
    assert.ok(largestDifference([await far.logits()], [steered.logits()]) < 1e-4);
    await there.dispose();

    steered.rewind(0);
    steered.steer([]);
    await steered.append(prompt);
    sameBits(steered.logits(), plain.logits());
  }));

test("hooks that return anything else, or use the model, are refused", () =>
  withSession("llama", async (session, prompt, model) => {
    const other = model.session();
    const hooks = [
      [() => new Float32Array(3), "INVALID_ARGUMENT", "onLayer"],
      [() => Promise.resolve(), "INVALID_ARGUMENT", "onLayer"],
      [(layer, residual) => void residual.fill(NaN), "INVALID_ARGUMENT", "onLayer"],
      [() => void session.dispose(), "DISPOSED", "session"],
    ];
    for (const [hook, code, field] of hooks.slice(0, 3)) {
      session.onLayer(hook);
      await rejects(session.append(prompt), code, field);
      assert.equal(session.length, 0);
    }
    await other.append(prompt);
    const logits = other.logits();
    session.onLayer(undefined);
    await session.append(prompt);
    other.rewind(3);
    session.onLayer(() => void other.logits());
    await rejects(session.append([1]), "INVALID_ARGUMENT", "onLayer");
    session.onLayer(undefined);
    await other.append(prompt.slice(3));
    sameBits(other.logits(), logits);
    session.onLayer(hooks[3][0]);
    await rejects(session.append([1]), "DISPOSED", "session");
    raises(() => other.onLayer(5), "INVALID_ARGUMENT", "hook");
    raises(() => other.steer([{ layer: 99, vector: [] }]), "INVALID_ARGUMENT", "steering[0].layer");
    raises(() => other.steer([{ layer: 0, vector: [1] }]), "INVALID_SHAPE", "steering[0].vector");
    raises(() => other.steer([{ layer: 0, vector: [], scale: NaN }]), "INVALID_ARGUMENT", "steering[0].scale");
  }));
