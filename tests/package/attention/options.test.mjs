// Options of attention, linear attention and position tables: unknown names are errors, and a rope is `rope` in every call.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { raises, rw } from "../helpers/runtime.mjs";

const shape = [3, 2, 8];
const [q, k, v] = [1, 2, 3].map((seed) => randomFloats(48, seed));
const good = { layout: "thd", shape };
const config = { head_dim: 8, pairing: "half" };
const rope = rw.rope(config);
const table = new Float32Array(64);
const state = rw.linearState({ heads: 2, headDim: 8 });

const calls = {
  "attention()": (options) => rw.attention(q, k, v, { ...good, ...options }),
  "linearAttention()": (options) => rw.linearAttention(q, k, v, { ...good, ...options }),
  "linearState()": (options) => rw.linearState({ heads: 2, headDim: 8, ...options }).dispose(),
  "append()": (options) => state.append(q, k, v, options),
  "sinusoidalTable()": (options) => rw.sinusoidalTable(4, 8, options),
  "t5Buckets()": (options) => rw.t5Buckets([1, 2], options),
};

const unknown = [
  // call, an option that it doesn't have, the suggestion
  ["attention()", "casual", "causal"],
  ["attention()", "softcap", "softCap"],
  ["attention()", "seqLen", "scale"],
  ["attention()", "ropes", "rope"],
  ["linearAttention()", "position", "positions"],
  ["linearAttention()", "window", ""],
  ["linearState()", "head_dim", "headDim"],
  ["append()", "shape", ""],
  ["sinusoidalTable()", "bases", "base"],
  ["t5Buckets()", "max_distance", "maxDistance"],
];

for (const [call, name, suggestion] of unknown) {
  test(`${call} doesn't know ${name}`, () => {
    raises(() => calls[call]({ [name]: undefined }), "UNKNOWN_KEY", name);
    assert.throws(
      () => calls[call]({ [name]: 1 }),
      ({ message }) =>
        message.includes(call) && message.includes(suggestion === "" ? "use one of" : `did you mean ${suggestion}?`),
    );
  });
}

test("what isn't an options object is an error", () => {
  const given = [null, 5, "thd", [], table, () => ({}), Symbol("options"), 1n];
  for (const options of given) {
    for (const call of [
      () => rw.attention(q, k, v, options),
      () => rw.linearAttention(q, k, v, options),
      () => rw.linearState(options),
      () => state.append(q, k, v, options),
      () => rw.sinusoidalTable(4, 8, options),
      () => rw.t5Buckets([1], options),
    ]) {
      raises(call, "INVALID_ARGUMENT", "options");
    }
  }
  raises(() => rw.attention(q, k, v), "INVALID_ARGUMENT", "layout");
  raises(() => rw.linearAttention(q, k, v), "INVALID_ARGUMENT", "layout");
  raises(() => rw.linearState(), "INVALID_ARGUMENT", "heads");
});

test("position schemes have their own names", () => {
  const schemes = [
    [{ scheme: "sinusoidal", bases: 5 }, "bases"],
    [{ scheme: "sinusoidal", table }, "table"],
    [{ scheme: "learned", table, rows: 8 }, "rows"],
    [{ scheme: "alibi", slope: [1, 1] }, "slope"],
    [{ scheme: "t5", table, max_distance: 5 }, "max_distance"],
  ];
  for (const [position, name] of schemes) {
    raises(() => rw.attention(q, k, v, { ...good, position }), "UNKNOWN_KEY", `position.${name}`);
  }
});

test("a rope is the option rope, and not a position scheme", () => {
  const expected = rw.attention(q, k, v, { ...good, rope });
  assert.notDeepEqual(expected, rw.attention(q, k, v, good));
  raises(() => rw.attention(q, k, v, { ...good, position: rope }), "INVALID_ARGUMENT", "position");
  assert.throws(() => rw.attention(q, k, v, { ...good, position: rope }), /as the option `rope`/);
  for (const position of ["none", { scheme: "alibi" }, rope]) {
    raises(() => rw.attention(q, k, v, { ...good, rope, position }), "INVALID_ARGUMENT", "position");
  }
  for (const wrong of [config, "none", null, {}]) {
    raises(() => rw.attention(q, k, v, { ...good, rope: wrong }), "INVALID_ARGUMENT", "rope");
    raises(() => rw.linearAttention(q, k, v, { ...good, rope: wrong }), "INVALID_ARGUMENT", "rope");
  }
});

test("switches are true or false", () => {
  for (const wrong of ["false", 0, null, {}, 1n]) {
    raises(() => rw.attention(q, k, v, { ...good, causal: wrong }), "INVALID_ARGUMENT", "causal");
    raises(() => rw.linearAttention(q, k, v, { ...good, causal: wrong }), "INVALID_ARGUMENT", "causal");
    raises(() => rw.t5Buckets([1], { bidirectional: wrong }), "INVALID_ARGUMENT", "bidirectional");
    const position = { scheme: "t5", table, bidirectional: wrong };
    raises(() => rw.attention(q, k, v, { ...good, position }), "INVALID_ARGUMENT", "position.bidirectional");
  }
});

test("options are read once each", () => {
  const counts = {};
  const counting = new Proxy(
    { layout: "thd", shape, scale: 0.5, causal: true, rope, positions: 0, window: 2, sinks: [0, 0] },
    {
      get(target, name) {
        counts[name] = (counts[name] ?? 0) + 1;
        return target[name];
      },
    },
  );
  sameBits(
    rw.attention(q, k, v, counting),
    rw.attention(q, k, v, { ...good, scale: 0.5, rope, window: 2, sinks: [0, 0] }),
  );
  for (const [name, count] of Object.entries(counts)) assert.equal(count, 1, name);
});
