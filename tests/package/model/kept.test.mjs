// Kept sessions: session.keep() writes a file, model.openSession() reads it, also in another process, in a Worker and under another scaling.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { pathToFileURL } from "node:url";
import { load as loadWorker } from "ropewalk/worker";
import { sameBits } from "../helpers/arrays.mjs";
import { largestDifference, tinyModel } from "../helpers/models.mjs";
import { inNewProcess } from "../helpers/processes.mjs";
import { build, rejects, rw } from "../helpers/runtime.mjs";

const folder = await mkdtemp(join(tmpdir(), "ropewalk-kept-"));
after(() => rm(folder, { recursive: true, force: true }));

const llama = tinyModel("llama/model.gguf");
const tokens = (count, step = 7) => Array.from({ length: count }, (_, i) => 3 + ((i * step) % 60));
const YARN = { rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32 } };

async function withModel(path, options, use) {
  const model = await rw.model(path, { contextLength: 512, ...options });
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

async function sessionOf(model, ids) {
  const session = model.session();
  await session.append(ids);
  return session;
}

const sameRows = (heads, others) => {
  assert.equal(heads.length, others.length);
  heads.forEach((rows, head) => sameBits(rows, others[head]));
};

for (const [name, dtype] of [
  ["llama", "f32"],
  ["llama", "f16"],
  ["llama", "q8_0"],
  ["llama", "q4_0"],
  ["llama", "q4_channel"],
  ["gemma3", "f16"],
  ["lfm2", "f16"],
]) {
  test(`${name}, ${dtype}: an opened session goes on with the same bits`, () =>
    withModel(tinyModel(name), { kv: { dtype } }, async (model) => {
      const session = await sessionOf(model, tokens(70));
      const file = join(folder, `${name}-${dtype}.session`);
      await session.keep(file);
      const opened = await model.openSession(pathToFileURL(file));
      assert.deepEqual(opened.tokens, session.tokens);
      for (const one of [session, opened]) await one.append(tokens(3, 11));
      sameBits(opened.logits(), session.logits());
      const layers = model.info.layers.flatMap(({ kind }, i) => (kind.endsWith("attention") ? [i] : []));
      for (const layer of layers) sameRows(opened.keys(layer), session.keys(layer));
    }));
}

test("another process opens it", () =>
  withModel(llama, {}, async (model) => {
    const session = await sessionOf(model, tokens(40));
    const file = join(folder, "process.session");
    await session.keep(file);
    const script = `
      import { load } from "ropewalk";
      const rw = await load({ build: ${JSON.stringify(build)} });
      const model = await rw.model(${JSON.stringify(llama)}, { contextLength: 512 });
      const session = await model.openSession(${JSON.stringify(file)});
      await session.append([5]);
      console.log(JSON.stringify([session.length, [...session.logits()]]));`;
    const printed = await inNewProcess(script);
    await session.append([5]);
    const [length, logits] = JSON.parse(printed);
    assert.equal(length, 41);
    sameBits(Float32Array.from(logits), session.logits());
  }));

test("a Worker keeps and opens the same files", () =>
  withModel(llama, {}, async (model) => {
    const worker = await loadWorker({ build });
    try {
      const far = await worker.model(llama, { contextLength: 512 });
      const there = await far.session();
      await there.append(tokens(40));
      const file = pathToFileURL(join(folder, "worker.session"));
      await there.keep(file);
      const here = await model.openSession(file);
      const again = await far.openSession(file, { contextLength: 100 });
      assert.deepEqual([again.length, again.contextLength], [40, 100]);
      sameBits(here.logits(), await again.logits());
      await rejects(far.openSession(join(folder, "none")), "INVALID_FILE", "name");
    } finally {
      await worker.dispose();
    }
  }));

// One re-rotation in f32 is off by 3 · 2^-24 of a pair's length (docs/kv_caches.md); the pairs of these keys are shorter than 4.
const ROTATION_LIMIT = 1e-6;

test("under the RoPE of the model, keys of the first layer are those of a session that read the text under it", async () => {
  const file = join(folder, "plain.session");
  const kv = { dtype: "f32" };
  await withModel(llama, { kv }, async (model) => (await sessionOf(model, tokens(60))).keep(file));
  await withModel(llama, { kv, rope: YARN }, async (model) => {
    const opened = await model.openSession(file, { rope: "model" });
    const fresh = await sessionOf(model, tokens(60));
    assert.deepEqual(opened.rope, fresh.rope);
    assert.ok(largestDifference(opened.keys(0), fresh.keys(0)) < ROTATION_LIMIT);
    assert.ok(largestDifference(opened.keys(1), fresh.keys(1)) > 1e-3, "deeper layers have seen the old scaling");

    const saved = await model.openSession(file);
    assert.equal(saved.rope.rope_scaling.rope_type, "default");
    assert.ok(largestDifference(saved.keys(0), fresh.keys(0)) > 0.1, "by default the RoPE is that of the session");
    saved.retune(fresh.rope);
    for (const layer of [0, 1]) sameRows(opened.keys(layer), saved.keys(layer));
    for (const one of [opened, saved]) await one.append([9]);
    sameBits(opened.logits(), saved.logits());
  });
});

test("rope: model with two kinds of RoPE, and with raw keys", async () => {
  for (const [name, keys] of [
    ["gemma3", "rotated"],
    ["gemma3", "raw"],
    ["llama", "raw"],
  ]) {
    const kv = { dtype: "f32", keys };
    const bytes = await withModel(tinyModel(name), { kv }, async (model) =>
      (await sessionOf(model, tokens(40))).save(),
    );
    const changed = { full_attention: { rope_theta: 777 } };
    await withModel(tinyModel(name), { kv, rope: changed }, async (model) => {
      const restored = model.session();
      restored.restore(bytes, { rope: "model" });
      const fresh = await sessionOf(model, tokens(40));
      assert.equal(restored.rope.rope_theta, 777);
      assert.ok(largestDifference(restored.keys(0), fresh.keys(0)) < ROTATION_LIMIT);
    });
  }
});

const DYNAMIC = { rope_scaling: { rope_type: "dynamic", factor: 2 }, max_position_embeddings: 60 };

for (const [what, from, to] of [
  ["into a scaling whose frequencies depend on the length", {}, { rope: DYNAMIC }],
  ["out of one", { rope: DYNAMIC }, {}],
])
  test(`${what}, a session goes on as after a live retune, and can be forked`, async () => {
    const file = join(folder, "dynamic.session");
    const kv = { dtype: "f32" };
    const ids = tokens(70);
    await withModel(llama, { kv, ...from }, async (model) => {
      const saved = await sessionOf(model, ids);
      await saved.keep(file);
      const expected = await (async () => {
        await saved.append([9]);
        return saved.logits();
      })();
      await withModel(llama, { kv, ...to }, async (other) => {
        const opened = await other.openSession(file);
        assert.deepEqual(opened.rope, saved.rope);
        const fork = opened.fork();
        for (const session of [opened, fork]) {
          await session.append([9]);
          sameBits(session.logits(), expected);
        }
        const live = await model.openSession(file);
        const { rope } = other;
        live.retune({ ...rope, rope_scaling: { ...rope.rope_scaling, replace: true } });
        const changed = await other.openSession(file, { rope: "model" });
        const again = other.session();
        again.restore(changed.fork().save());
        assert.deepEqual(changed.rope, live.rope);
        for (const session of [live, changed, again]) await session.append(tokens(20, 11));
        sameBits(changed.logits(), live.logits());
        sameBits(again.logits(), live.logits());
        changed.rewind(0);
        await changed.append(ids);
        const read = await sessionOf(other, ids);
        assert.ok(largestDifference([changed.logits()], [read.logits()]) < 1e-4);
      });
    });
  });

test("errors say what can't be opened or kept, and leave files as they were", () =>
  withModel(llama, {}, async (model) => {
    const session = await sessionOf(model, tokens(40));
    const file = join(folder, "errors.session");
    await session.keep(file);
    await rejects(model.openSession(join(folder, "missing")), "INVALID_FILE", "name");
    await rejects(model.openSession(""), "INVALID_ARGUMENT", "name");
    const worker = await loadWorker({ build });
    const there = await (await worker.model(llama)).session();
    for (const name of [
      7,
      Symbol("a"),
      "a\0b",
      new URL("https://host/a"),
      "file:///a%2Fb",
      "file:%",
      new Uint8Array(1),
    ]) {
      await rejects(session.keep(name), "INVALID_ARGUMENT", "name");
      await rejects(model.openSession(name), "INVALID_ARGUMENT", "name");
      if (!(name instanceof URL)) await rejects(there.keep(name), "INVALID_ARGUMENT", "name");
    }
    await worker.dispose();
    await rejects(session.keep(join(folder, "none", "file")), "INVALID_FILE", "name");
    await rejects(session.keep(folder), "INVALID_FILE", "name");
    await rejects(model.openSession(file, { contextLength: 39 }), "CACHE_FULL", `${file}: bytes`);
    await rejects(model.openSession(file, { rope: "yarn" }), "INVALID_ARGUMENT", "rope");
    await rejects(model.openSession(file, { ropes: "model" }), "UNKNOWN_KEY", "ropes");
    await rejects(session.keep(), "INVALID_ARGUMENT", "name");
    const bytes = await readFile(file);
    bytes[bytes.length - 20] ^= 1;
    const damaged = join(folder, "damaged.session");
    await writeFile(damaged, bytes);
    await rejects(model.openSession(damaged), "INVALID_BYTES", `${damaged}: bytes`);
    await withModel(tinyModel("qwen3"), {}, (other) =>
      rejects(other.openSession(file), "INVALID_BYTES", `${file}: bytes`),
    );
    for (const [kv, message] of [
      [{ dtype: "q4_0" }, /values of type f16, but the model stores q4_0; load the model with kv: { dtype: "f16" }/],
      [{ keys: "raw" }, /has rotated keys, but the model stores raw ones; load the model with kv: { keys: "rotated" }/],
    ])
      await withModel(llama, { kv }, (other) =>
        assert.rejects(other.openSession(file), { code: "INVALID_BYTES", field: `${file}: bytes`, message }),
      );
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.includes("unfinished")),
      [],
    );
  }));
