// Restored and forked sessions: long ones, and images that are damaged or forged. A failure changes nothing. ROPEWALK_IMAGES and
// ROPEWALK_SEED try more images and others.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test, { after } from "node:test";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import { load } from "ropewalk";
import { load as loadWorker } from "ropewalk/worker";
import { sameBits } from "../helpers/arrays.mjs";
import { randomFrom } from "../helpers/hostile.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build, raises, rw } from "../helpers/runtime.mjs";

const models = {
  llama: await rw.model(tinyModel("llama/model.gguf"), { kv: { dtype: "f16" } }), // one RoPE
  gemma3: await rw.model(tinyModel("gemma3/model.gguf"), { kv: { dtype: "bf16" } }), // two RoPEs
  phi3: await rw.model(tinyModel("phi3/model.gguf"), { kv: { dtype: "q8_0", keys: "raw" } }), // LongRoPE
};
after(() => Object.values(models).forEach((model) => model.dispose()));

const tokens = (count, step) => Array.from({ length: count }, (_, i) => 3 + ((i * step) % 60));
const HEADER = 16;
const IMAGES = Number(process.env.ROPEWALK_IMAGES ?? 2000);
const SEED = Number(process.env.ROPEWALK_SEED ?? 1);

/** The fingerprint of a model, from an empty session. */
function fingerprintOf(model) {
  const session = model.session();
  const { json } = partsOf(session.save());
  session.dispose();
  return json.model;
}

/** Where a tensor begins in a safetensors file. */
function offsetOf(bytes, name) {
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  return 8 + length + header[name].data_offsets[0];
}

/** The JSON and the cache of saved bytes. */
function partsOf(bytes) {
  const end = HEADER + new DataView(bytes.buffer).getUint32(8, true);
  return { json: JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER, end))), cache: bytes.subarray(end) };
}

/** Saved bytes with a right checksum of the JSON. */
function bytesOf(json, cache) {
  const text = new TextEncoder().encode(typeof json === "string" ? json : JSON.stringify(json));
  const header = Uint32Array.of(0x4e535752, 3, text.length, crc32(text));
  return Uint8Array.from([...new Uint8Array(header.buffer), ...text, ...cache]);
}

/** The image of a cache with right checksum after a change of its bytes. */
function withChecksum(cache) {
  const bytes = cache.slice();
  new DataView(bytes.buffer).setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)), true);
  return bytes;
}

test("the checksum of a cache's image is at its end", () => {
  for (const model of Object.values(models)) {
    const session = model.session();
    const { cache } = partsOf(session.save());
    assert.deepEqual(withChecksum(cache), cache);
    session.dispose();
  }
});

test("sessions of 131,072 tokens and more are forked, saved and restored", async () => {
  const model = await rw.model(tinyModel("mistral"), { contextLength: 2 ** 18 });
  const session = model.session();
  const list = tokens(131072 + 100, 7);
  await session.append(list);
  const logits = session.logits();
  const fork = session.fork();
  assert.deepEqual(fork.tokens, list);
  const other = model.session();
  other.restore(session.save());
  assert.deepEqual(other.tokens, list);
  assert.deepEqual(other.logits(), logits);
  assert.deepEqual(fork.logits(), logits);
  model.dispose();
  for (const one of [session, fork, other]) one.dispose();
});

test("bytes of another model with the same shapes are INVALID_BYTES, whatever differs", async () => {
  const names = ["llama", "mistral", "llama_bias", "granite", "qwen2", "llama/model.gguf"];
  const opened = await Promise.all(names.map((name) => rw.model(tinyModel(name))));
  const sessions = opened.map((model) => model.session());
  for (const session of sessions) await session.append(tokens(20, 7));
  const saved = sessions.map((session) => session.save());
  for (const [i, session] of sessions.entries()) {
    for (const [j, bytes] of saved.entries())
      if (i !== j) raises(() => session.restore(bytes), "INVALID_BYTES", "bytes");
    sameBits(session.save(), saved[i], names[i]);
    session.restore(saved[i]);
  }
  assert.throws(
    () => sessions[0].restore(saved[1]),
    /another model, or with another quantization of it; load the model as it was/,
  );
  for (const one of [...sessions, ...opened]) one.dispose();
});

test("other numbers in one norm, with the same config, make another model", async () => {
  const folder = tinyModel("llama");
  const file = new File([await readFile(`${folder}/model.safetensors`)], "model.safetensors");
  const config = new File([await readFile(`${folder}/config.json`)], "config.json");
  const changed = Uint8Array.from(await readFile(`${folder}/model.safetensors`));
  changed[offsetOf(changed, "model.norm.weight")] ^= 1;
  const one = await rw.model([file, config]);
  const other = await rw.model([new File([changed], "model.safetensors"), config]);
  assert.notEqual(fingerprintOf(one), fingerprintOf(other));
  for (const model of [one, other]) model.dispose();
});

test("every source, build, RoPE and kind of cache of a file gives the same fingerprint", async () => {
  const path = tinyModel("llama/model.gguf");
  const bytes = await readFile(path);
  const scalar = await load({ build: "scalar" });
  const worker = await loadWorker({ build });
  const rope = { rope_scaling: { rope_type: "yarn", factor: 2, original_max_position_embeddings: 128 } };
  const opened = [
    await rw.model(path),
    await rw.model(pathToFileURL(path)),
    await rw.model(new Blob([bytes])),
    await rw.model(bytes),
    await rw.model(path, { rope }),
    await rw.model(path, { rope: { rope_theta: 5000 }, contextLength: 64, kv: { dtype: "q8_0" } }),
    await scalar.model(path),
  ];
  const expected = fingerprintOf(opened[0]);
  assert.match(expected, /^[0-9a-f]{8}$/);
  for (const model of opened) assert.equal(fingerprintOf(model), expected);
  const theirs = await (await worker.model(path)).session();
  assert.equal(partsOf(await theirs.save()).json.model, expected);
  await worker.dispose();
  // saved under one scaling, restored under another
  const [plain, scaled] = [opened[0].session(), opened[4].session()];
  await scaled.append(tokens(20, 7));
  plain.restore(scaled.save());
  assert.deepEqual(plain.rope, scaled.rope);
  assert.deepEqual(plain.logits(), scaled.logits());
  for (const one of [plain, scaled, ...opened]) one.dispose();
});

test("a session keeps its context length; more tokens than that are CACHE_FULL and change nothing", async () => {
  const [long, short] = [models.llama.session(), models.llama.session({ contextLength: 4 })];
  await long.append(tokens(4, 7));
  short.restore(long.save());
  assert.equal(short.contextLength, 4);
  await long.append([5]);
  const before = short.save();
  raises(() => short.restore(long.save()), "CACHE_FULL", "bytes");
  sameBits(short.save(), before);
  raises(() => long.fork({ contextLength: 4 }), "INVALID_ARGUMENT", "contextLength");
  const fork = long.fork({ contextLength: 5 });
  assert.equal(fork.contextLength, 5);
  assert.deepEqual(fork.tokens, long.tokens);
  for (const one of [long, short, fork]) one.dispose();
});

for (const [name, model] of Object.entries(models)) {
  /** A session with another RoPE, and the image of another one. */
  async function twoSessions() {
    const [session, saved] = [model.session(), model.session({ contextLength: 300 })];
    await session.append(tokens(70, 7));
    if (name !== "phi3") session.retune({ rope_scaling: { rope_type: "linear", factor: 3, replace: true } });
    await saved.append(tokens(100, 11));
    const bytes = saved.save();
    return { session, saved, bytes, dispose: () => [session, saved].forEach((one) => one.dispose()) };
  }

  test(`${name}: restored bytes give the same session`, async () => {
    const { session, saved, bytes, dispose } = await twoSessions();
    const expected = saved.logits();
    session.restore(bytes);
    sameBits(session.save(), bytes);
    assert.deepEqual(session.logits(), expected);
    assert.deepEqual(session.tokens, saved.tokens);
    assert.deepEqual(session.rope, saved.rope);
    assert.equal(session.contextLength, model.info.contextLength);
    dispose();
  });

  test(`${name}: a forged image is INVALID_BYTES, and the session is the same bit for bit`, async () => {
    const { session, bytes, dispose } = await twoSessions();
    const before = session.save();
    const { json, cache } = partsOf(bytes);
    const [rope] = json.ropes;
    const short = model.session();
    await short.append([5, 6, 7]);
    const three = partsOf(short.save());
    short.dispose();
    const forged = {
      "8 tokens with a cache of 3": [{ ...three.json, tokens: tokens(8, 1) }, three.cache],
      "2 tokens with a cache of 3": [{ ...three.json, tokens: [5, 6] }, three.cache],
      "no tokens with a cache of 3": [{ ...three.json, tokens: [] }, three.cache],
      "a token outside the vocabulary": [{ ...json, tokens: json.tokens.with(3, 64) }, cache],
      "a negative token": [{ ...json, tokens: json.tokens.with(3, -1) }, cache],
      "a fractional token": [{ ...json, tokens: json.tokens.with(3, 1.5) }, cache],
      "a token that is text": [{ ...json, tokens: json.tokens.with(3, "5") }, cache],
      "tokens that are no list": [{ ...json, tokens: { length: 100 } }, cache],
      "the fingerprint of another model": [{ ...json, model: "00000000" }, cache],
      "a fingerprint that is a number": [{ ...json, model: 5 }, cache],
      "no fingerprint": [{ ...json, model: undefined }, cache],
      "rope_scaling: null": [{ ...json, ropes: json.ropes.map((one) => ({ ...one, rope_scaling: null })) }, cache],
      "a null rope": [{ ...json, ropes: json.ropes.map(() => null) }, cache],
      "a rope too many": [{ ...json, ropes: [...json.ropes, rope] }, cache],
      "no ropes": [{ ...json, ropes: [] }, cache],
      "a rope with an unknown key": [{ ...json, ropes: json.ropes.map((one) => ({ ...one, thetas: 1 })) }, cache],
      "a rope of another width": [{ ...json, ropes: json.ropes.map((one) => ({ ...one, head_dim: 64, rotary_dim: 64 })) }, cache], // prettier-ignore
      "a rope with a bad base": [{ ...json, ropes: json.ropes.map((one) => ({ ...one, rope_theta: -1 })) }, cache],
      null: [null, cache],
      "a number": [5, cache],
      "no JSON": ["{", cache],
      "nested JSON": ["[".repeat(100000), cache],
      "an empty cache": [json, new Uint8Array()],
      "the cache of other tokens": [json, three.cache],
    };
    for (const [what, [own, image]] of Object.entries(forged)) {
      raises(() => session.restore(bytesOf(own, image)), "INVALID_BYTES", "bytes");
      sameBits(session.save(), before, what);
    }
    for (const wrong of [
      undefined,
      null,
      5,
      "bytes",
      {},
      [],
      new Float32Array(9),
      new DataView(bytes.buffer),
      new Proxy(bytes, {}),
    ])
      raises(() => session.restore(wrong), "INVALID_ARGUMENT", "bytes");
    for (const part of [new Uint8Array(), bytes.subarray(1)])
      raises(() => session.restore(part), "INVALID_BYTES", "bytes");
    const detached = bytes.slice();
    structuredClone(detached, { transfer: [detached.buffer] });
    raises(() => session.restore(detached), "INVALID_ARGUMENT", "bytes");
    sameBits(session.save(), before);
    dispose();
  });

  test(`${name}: positions that aren't those of the tokens are INVALID_BYTES`, async () => {
    const { session, bytes, dispose } = await twoSessions();
    const before = session.save();
    const { json, cache } = partsOf(bytes);
    const count = json.tokens.length;
    const start = findPositions(cache, count);
    for (const value of [-1, 0.5, 5, 200, 2 ** 24, 2 ** 31, 1e300, NaN, Infinity, -Infinity]) {
      const changed = cache.slice();
      new DataView(changed.buffer).setFloat64(start + 8 * 40, value, true);
      raises(() => session.restore(bytesOf(json, withChecksum(changed))), "INVALID_BYTES", "bytes");
      sameBits(session.save(), before, String(value));
    }
    dispose();
  });

  test(`${name}: ${IMAGES} changed images end in success or INVALID_BYTES, and a failure changes nothing`, async (t) => {
    const { session, bytes, dispose } = await twoSessions();
    const logits = session.logits(); // after a change of RoPE, this reads the last token again
    const before = session.save();
    const { json, cache } = partsOf(bytes);
    const random = randomFrom(SEED);
    const tally = { success: 0, INVALID_BYTES: 0 };
    for (let i = 0; i < IMAGES; i++) {
      const forged = mutate(random, json, cache);
      try {
        session.restore(forged);
        tally.success++;
        assert.ok(session.length === 0 || session.logits().length === model.info.vocabularySize);
        session.restore(before);
      } catch (error) {
        assert.equal(error.name, "RopewalkError", `case ${i}: ${error.stack}`);
        assert.equal(error.code, "INVALID_BYTES", `case ${i}: ${error.stack}`);
        tally[error.code]++;
      }
      if (i % 20 === 0) sameBits(session.save(), before, `case ${i}`);
    }
    sameBits(session.save(), before);
    assert.deepEqual(session.logits(), logits);
    t.diagnostic(JSON.stringify(tally));
    assert.ok(tally.success > 0 && tally.INVALID_BYTES > IMAGES / 2);
    dispose();
  });
}

/** Where the positions 0, 1, 2 … are in the image of a cache. */
function findPositions(cache, count) {
  const expected = new Uint8Array(Float64Array.from({ length: count }, (_, i) => i).buffer);
  const at = Buffer.from(cache).indexOf(Buffer.from(expected));
  assert.ok(at > 0);
  return at;
}

/** Bytes with some fields or bytes changed; the checksums of most are right. */
function mutate(random, json, cache) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const values = [
    null,
    true,
    -1,
    0,
    1,
    1.5,
    63,
    64,
    1e9,
    2 ** 31,
    2 ** 53,
    1e308,
    "",
    "yarn",
    [],
    {},
    [1, 2],
    { a: 1 },
  ];
  const change = (object) => {
    const keys = Object.keys(object);
    const key = pick(keys);
    const inner = object[key];
    if (typeof inner === "object" && inner !== null && Object.keys(inner).length > 0 && random() < 0.7) change(inner);
    else if (random() < 0.2 && !Array.isArray(object)) delete object[key];
    else object[key] = structuredClone(pick(values));
  };
  const own = structuredClone(json);
  const image = cache.slice();
  const kind = random();
  if (kind < 0.5) for (let n = 1 + Math.floor(random() * 2); n > 0; n--) change(own);
  if (kind >= 0.4 && kind < 0.9) {
    const limit = random() < 0.7 ? Math.min(400, image.length) : image.length;
    for (let n = 1 + Math.floor(random() * 3); n > 0; n--) {
      const at = Math.floor(random() * limit);
      image[at] = random() < 0.5 ? image[at] ^ (1 << Math.floor(random() * 8)) : Math.floor(random() * 256);
    }
  }
  const bytes = bytesOf(own, random() < 0.9 ? withChecksum(image) : image);
  return kind < 0.95 ? bytes : bytes.subarray(0, Math.floor(random() * bytes.length));
}
