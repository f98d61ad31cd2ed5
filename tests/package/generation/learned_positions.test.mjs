// Sessions of a model with learned positions (GPT-2): a context grows to all of them and no further, and no token moves.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

const LEARNED = 256;
const TOKENS = Array.from({ length: LEARNED }, (_, i) => 5 + ((7 * i) % 40));

for (const file of ["gpt2/", "gpt2/model.gguf"]) {
  const open = (contextLength) =>
    rw.model(tinyModel(file), { kv: { dtype: "f32" }, ...(contextLength && { contextLength }) });
  const [model, whole] = await Promise.all([open(100), open()]);
  after(() => [model, whole].forEach((one) => one.dispose()));

  /** The logits of a new session that reads tokens at once. */
  async function fresh(tokens) {
    const session = whole.session();
    await session.append(tokens);
    const logits = session.logits();
    session.dispose();
    return logits;
  }

  async function filled() {
    const session = model.session();
    await session.append(TOKENS.slice(0, 100));
    return session;
  }

  test(`${file}: extend() reaches all learned positions, with the bits of a longer context`, async () => {
    assert.equal(whole.info.contextLength, LEARNED);
    const session = await filled();
    const fork = session.fork();
    await assert.rejects(fork.append([5]), {
      code: "CACHE_FULL",
      message: /100 of 100 are used; call rewind\(\), or use a larger contextLength, at most 256$/,
    });
    session.extend({ contextLength: 130 });
    session.extend();
    assert.equal(session.contextLength, LEARNED);
    assert.equal(fork.contextLength, 100);
    await session.append(TOKENS.slice(100));
    assert.deepEqual(session.logits(), await fresh(TOKENS));
    assert.throws(() => session.extend(), { code: "UNSUPPORTED_MODEL", field: "session", message: /learned 256/ });
    assert.throws(() => session.extend({ contextLength: 300 }), { code: "INVALID_ARGUMENT", field: "contextLength" });
    await assert.rejects(session.append([5]), { code: "CACHE_FULL", message: /256 of 256 are used; call rewind\(\)$/ });

    const longer = fork.fork({ contextLength: LEARNED }); // continues at the positions after its keys
    await longer.append(TOKENS.slice(100, 140));
    assert.deepEqual(longer.logits(), await fresh(TOKENS.slice(0, 140)));
    fork.rewind(60);
    await fork.append(TOKENS.slice(60, 70));
    assert.deepEqual(fork.logits(), await fresh(TOKENS.slice(0, 70)));
    for (const one of [session, fork, longer]) one.dispose();
  });

  test(`${file}: shift() and retune() are refused, and change nothing`, async () => {
    const session = await filled();
    const before = session.save();
    const cannotShift = { code: "UNSUPPORTED_MODEL", field: "session", message: /learned positions/ };
    assert.throws(() => session.shift({ keep: 4, discard: 10 }), cannotShift);
    assert.throws(() => session.shift({ discard: 10 }), cannotShift);
    assert.throws(() => session.retune({ rope_theta: 500 }), { code: "INVALID_ARGUMENT", field: "rope" });
    await assert.rejects(session.generate({ whenFull: "shift" }).next(), cannotShift);
    assert.deepEqual(session.save(), before);
    session.shift({ keep: 60, discard: 40 }); // nothing moves
    assert.equal(session.length, 60);
    session.dispose();
  });

  test(`${file}: a generation stops where the context does, or the positions`, async () => {
    for (const [whenFull, length] of [
      ["stop", 100],
      ["extend", LEARNED],
    ]) {
      const session = await filled();
      session.rewind(95);
      const pieces = [];
      const run = async () => {
        for await (const piece of session.generate({ temperature: 0, maxTokens: 300, ignoreEnd: true, whenFull }))
          pieces.push(piece);
      };
      if (whenFull === "stop") await run();
      else await assert.rejects(run, { code: "UNSUPPORTED_MODEL", field: "session", message: /whenFull: "stop"/ });
      assert.equal(session.length, length);
      assert.ok(pieces.length >= length - 95);
      session.dispose();
    }
  });

  test(`${file}: longer contexts and windows are refused`, async () => {
    await assert.rejects(open(LEARNED + 1), { code: "INVALID_ARGUMENT", field: "contextLength" });
    const window = { code: "INVALID_ARGUMENT", field: "window" };
    await assert.rejects(whole.perplexity(TOKENS, { window: LEARNED + 1 }), window);
    assert.throws(() => model.session({ contextLength: LEARNED + 1 }), { code: "INVALID_ARGUMENT" });
    const read = whole.session();
    const tooMany = { code: "CACHE_FULL", message: /read less: the model has learned no more positions/ };
    await assert.rejects(read.append([...TOKENS, 5]), tooMany);
    read.dispose();
  });
}
