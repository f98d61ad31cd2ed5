// Calls of the whole API with hostile arguments, from a seed: each ends in success, in a RopewalkError, or in the caller's own error, and
// a good rotation has the same bits afterwards. ROPEWALK_FUZZ_CALLS is the number of calls, ROPEWALK_FUZZ_SEED the seed, ROPEWALK_FUZZ_TARGETS a pattern of
// the targets that are called.
import assert from "node:assert/strict";
import test from "node:test";
import * as api from "ropewalk";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import {
  hostileArguments,
  hostileOptions,
  hostileValue,
  inWords,
  isAllowed,
  randomSource,
} from "../helpers/hostile.mjs";
import { rw } from "../helpers/runtime.mjs";

const CALLS = Number(process.env["ROPEWALK_FUZZ_CALLS"] ?? 4000);
const SEED = Number(process.env["ROPEWALK_FUZZ_SEED"] ?? 1);
const TARGET_NAMES = new RegExp(process.env["ROPEWALK_FUZZ_TARGETS"] ?? "");

const config = { head_dim: 64, pairing: "half", rope_theta: 1e6, max_position_embeddings: 4096 };
const model = {
  ...{ model_type: "qwen2", hidden_size: 256, num_attention_heads: 4, rope_theta: 1e6, max_position_embeddings: 4096 },
  rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 1024 },
};
const shape = [2, 3, 64];
const floats = () => randomFloats(384);
const rotation = () => ({
  ...{ layout: "thd", shape: [...shape], strides: [192, 64], offset: 0, positions: [4, 9], axes: 1, inverse: false },
  ...{ role: "query", seqLen: 16, dtype: "f32", out: new Float32Array(384) },
});
const qkv = () => ({ layout: "thd", shape: [...shape], kvShape: [...shape] });
const tableRotation = () => ({
  ...{ layout: "thd", shape: [...shape], strides: [192, 64], offset: 0, positions: [4, 9], dtype: "f32" },
  cos: randomFloats(20 * 32),
  sin: randomFloats(20 * 32, 2),
  tableLayout: "compact",
  pairing: "half",
});

/** The objects that calls use. They are made anew now and then, as hostile calls may dispose of them. */
function makeObjects() {
  const rope = rw.rope(config);
  const other = rw.rope({ ...config, rope_scaling: { rope_type: "default", mrope_section: [8, 12, 12] } });
  return {
    rope,
    other,
    tensor: rw.tensor(shape).set(floats()),
    half: rw.tensor(shape, "bf16"),
    cache: rw.kvCache({ rope: config, layers: 2, kvHeads: 3, maxLength: 64 }),
    linear: rw.linearState({ heads: 3, headDim: 64 }),
  };
}

/** Calls with good arguments: each function makes them, and the arguments that it is given replace them. */
const TARGETS = {
  "rw.rope": [
    () => [{ ...model.rope_scaling, ...config, rope_scaling: { ...model.rope_scaling } }],
    (_, ...args) => rw.rope(...args).dispose(),
  ],
  "rw.tensor": [() => [[2, 3], "f16"], (_, ...args) => rw.tensor(...args).dispose()],
  "rw.rotate": [() => [floats(), tableRotation()], (_, ...args) => rw.rotate(...args)],
  "rw.describe": [() => [{ ...config }, 64], (_, ...args) => void String(rw.describe(...args))],
  "rw.convertPairing": [
    () => [floats(), { heads: 2, head_dim: 64, rotary_dim: 32, rotary_offset: 4, from: "half", to: "interleaved" }],
    (_, ...args) => rw.convertPairing(...args),
  ],
  "rw.smallestBase": [() => [64, 128], (_, ...args) => rw.smallestBase(...args)],
  "rw.attention": [
    () => [
      floats(),
      floats(),
      floats(),
      { ...qkv(), causal: true, window: 4, scale: 1, positions: 0, softCap: 5, sinks: [0, 0, 0] },
    ],
    (_, ...args) => rw.attention(...args),
  ],
  "rw.linearAttention": [
    () => [floats(), floats(), floats(), { ...qkv(), causal: true, positions: 0 }],
    (_, ...args) => rw.linearAttention(...args),
  ],
  "rw.kvCache": [
    () => [{ rope: { ...config }, layers: 2, kvHeads: 3, maxLength: 64, dtype: "f16", keys: "raw", sequences: 2 }],
    (_, ...args) => rw.kvCache(...args).dispose(),
  ],
  "rw.kvCacheBytes": [
    () => [{ rope: { ...config }, layers: 2, kvHeads: 3, length: 64, dtype: "f16" }],
    (_, ...args) => rw.kvCacheBytes(...args),
  ],
  "rw.linearState": [() => [{ heads: 3, kvHeads: 3, headDim: 64 }], (_, ...args) => rw.linearState(...args).dispose()],
  "rw.sinusoidalTable": [() => [[1, 2, 3], 8, { base: 100 }], (_, ...args) => rw.sinusoidalTable(...args)],
  "rw.alibiSlopes": [() => [4], (_, ...args) => rw.alibiSlopes(...args)],
  "rw.t5Buckets": [
    () => [[1, 2, 3], { buckets: 8, maxDistance: 20, bidirectional: true }],
    (_, ...args) => rw.t5Buckets(...args),
  ],
  "rope.rotate": [() => [floats(), rotation()], ({ rope }, ...args) => rope.rotate(...args)],
  "rope.rotate a tensor": [() => [rotation()], ({ rope, tensor }, options) => rope.rotate(tensor, options)],
  "rope.rotate 16 bits": [() => [rotation()], ({ rope, half }, options) => rope.rotate(half, options)],
  "rope.rotate on axes": [() => [floats(), rotation()], ({ other }, ...args) => other.rotate(...args)],
  "rope.rerotate": [
    () => [
      floats(),
      {
        layout: "thd",
        shape: [...shape],
        from: { positions: 0, seqLen: 9, axes: 1 },
        to: { positions: [1, 2] },
        dtype: "f32",
      },
    ],
    ({ rope }, ...args) => rope.rerotate(...args),
  ],
  "rope.rerotate from": [
    () => [{ positions: [3, 4], axes: 1, seqLen: 20 }],
    ({ rope }, from) => rope.rerotate(floats(), { layout: "thd", shape, from, to: { positions: 0 } }),
  ],
  "rope.table": [
    () => [[1, 2, 3], { dtype: "f16", layout: "half", role: "key", inverse: true, seqLen: 20 }],
    ({ rope }, ...args) => rope.table(...args),
  ],
  "rope.table out": [
    () => [{ cos: new Float32Array(96), sin: new Float32Array(96) }],
    ({ rope }, out) => rope.table([1, 2, 3], { out }),
  ],
  "rope.plan": [() => [100], ({ rope }, ...args) => rope.plan(...args)],
  "rope.decay": [
    () => [{ count: 4, first: 1, step: 2, curve: "random", draws: 2, seed: 5, seqLen: 9 }],
    ({ rope }, ...args) => rope.decay(...args),
  ],
  "rope.firstNegativeDistance": [() => [100, 9], ({ rope }, ...args) => rope.firstNegativeDistance(...args)],
  "rope.queryTemperature": [() => [[1, 2, 3]], ({ rope }, ...args) => rope.queryTemperature(...args)],
  "rope.describe": [() => [100], ({ rope }, ...args) => void String(rope.describe(...args))],
  "tensor.set": [() => [floats()], ({ tensor }, ...args) => tensor.set(...args)],
  "tensor.set 16 bits": [() => [floats()], ({ half }, ...args) => half.set(...args)],
  describe: [() => [{ ...config }, 64], (_, ...args) => void String(api.describe(...args))],
  ropeConfig: [
    () => [{ ...model }, { overrides: { rope_scaling: { rope_type: "linear", factor: 2 } } }],
    (_, ...args) => api.ropeConfig(...args),
  ],
  ropeLayers: [() => [{ ...model }, {}], (_, ...args) => api.ropeLayers(...args)],
  overrideRopeConfig: [() => [{ ...config }, { rope_theta: 100 }], (_, ...args) => api.overrideRopeConfig(...args)],
  load: [() => [{ build: rw.build, signal: undefined }], (_, ...args) => api.load(...args)],
  "linear.append": [
    () => [floats(), floats(), floats(), { layout: "thd", positions: [1, 2], out: new Float32Array(384) }],
    ({ linear }, ...args) => linear.append(...args),
  ],
  "linear.restore": [() => [new Uint8Array(64)], ({ linear }, ...args) => linear.restore(...args)],
  "cache.append": [
    () => [
      {
        k: floats(),
        v: floats(),
        q: floats(),
        layout: "thd",
        shape: [...shape],
        positions: [1, 2],
        layer: 1,
        sequence: 0,
      },
    ],
    ({ cache }, ...args) => cache.append(...args),
  ],
  "cache.attend": [
    () => [floats(), { layout: "thd", shape: [...shape], layer: 1, window: 3, causal: true }],
    ({ cache }, ...args) => cache.attend(...args),
  ],
  "cache.retune": [
    () => [{ rope: { ...config }, layers: [0, 1], positions: 4, sequence: 0 }],
    ({ cache }, ...args) => cache.retune(...args),
  ],
  "cache.canRetune": [() => [{ rope: { ...config }, positions: 4 }], ({ cache }, ...args) => cache.canRetune(...args)],
  "cache.shift": [() => [{ keep: 0, discard: 1, sequence: 0 }], ({ cache }, ...args) => cache.shift(...args)],
  "cache.canShift": [() => [{ keep: 0, discard: 1 }], ({ cache }, ...args) => cache.canShift(...args)],
  "cache.truncate": [() => [1, { sequence: 0 }], ({ cache }, ...args) => cache.truncate(...args)],
  "cache.copyPrefix": [() => [{ from: 0, to: 0, length: 1 }], ({ cache }, ...args) => cache.copyPrefix(...args)],
  "cache.read": [() => [{ layer: 1, sequence: 0, first: 0, count: 1 }], ({ cache }, ...args) => cache.read(...args)],
  "cache.save": [() => [{ sequence: 0 }], ({ cache }, ...args) => cache.save(...args)],
  "cache.restore": [() => [new Uint8Array(64), { sequence: 0 }], ({ cache }, ...args) => cache.restore(...args)],
  "cache.lengthOf": [() => [0], ({ cache }, ...args) => cache.lengthOf(...args)],
  "cache.positions": [() => [0], ({ cache }, ...args) => cache.positions(...args)],
  "cache.config": [() => [1], ({ cache }, ...args) => cache.config(...args)],
};

const OBJECT_METHODS = ["rope", "other", "tensor", "half", "cache", "linear"];

test(`${CALLS} calls with hostile arguments, from seed ${SEED}`, async () => {
  const random = randomSource(SEED);
  const good = { layout: "thd", shape, positions: [4, 9] };
  const check = rw.rope(config);
  const expected = check.rotate(floats(), good);
  const names = Object.keys(TARGETS).filter((name) => TARGET_NAMES.test(name));
  const outcomes = { success: 0, error: 0 };
  const failures = [];
  let objects = makeObjects();
  for (let call = 0; call < CALLS; call++) {
    const name = names[call % names.length];
    const [makeArguments, act] = TARGETS[name];
    const isGood = call < names.length; // first, each target is called with its good arguments, or the test would test nothing
    const args = isGood ? makeArguments() : hostileArguments(random, makeArguments());
    const words = args.map((argument) => inWords(argument)).join(", ");
    try {
      await act(objects, ...args);
      outcomes.success++;
    } catch (error) {
      outcomes.error++;
      if (!isAllowed(error)) failures.push(`call ${call}, ${name}(${words}): ${error?.stack ?? error}`);
    }
    if (call % 10 === 9) sameBits(check.rotate(floats(), good), expected, `after call ${call}, ${name}(${words})`);
    if (call % 500 === 499) {
      for (const object of OBJECT_METHODS) objects[object].dispose();
      objects = makeObjects();
    }
  }
  assert.deepEqual(failures.slice(0, 20), [], `${failures.length} calls ended in another error`);
  sameBits(check.rotate(floats(), good), expected);
  assert.ok(outcomes.success > 0.02 * CALLS && outcomes.error > 0.3 * CALLS, JSON.stringify(outcomes));
});

test("the hostile values are hostile: each makes some call fail, and options objects vary", () => {
  const random = randomSource(5);
  const shapes = new Set();
  for (let i = 0; i < 500; i++) shapes.add(inWords(hostileOptions(random, rotation())).slice(0, 200));
  assert.ok(shapes.size > 250, `${shapes.size} different options objects`);
  const values = new Set(Array.from({ length: 2000 }, () => inWords(hostileValue(random))));
  assert.ok(values.size > 60, `${values.size} different values`);
});
