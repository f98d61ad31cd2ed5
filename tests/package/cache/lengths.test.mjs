// Ropes whose frequencies depend on the length: at each length all keys are rotated for that length, as in a full forward pass of transformers
// (tests/golden/cached_attention.json).
import assert from "node:assert/strict";
import test from "node:test";
import { close, randomFloats } from "../helpers/arrays.mjs";
import { appendAll, expectFresh, kinds, makeTokens, pick, range } from "../helpers/caches.mjs";
import { configOf, golden } from "../helpers/golden.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const cases = golden("cached_attention");

test("all cases are there", () => assert.equal(cases.length, 6));

/** Some tokens of [1, heads, T, d] as [1, heads, end − first, d]. */
function tokensOf(values, [, heads, count, d], first, end) {
  const part = [];
  for (let head = 0; head < heads; head++)
    part.push(...values.slice((head * count + first) * d, (head * count + end) * d));
  return Float32Array.from(part);
}

/**
 * transformers' outputs are within 9.1e-7 of exact (tests/golden/README.md), f32 attention within 1e-6 of that. Inputs are multiples of 1/64,
 * exact in f16 and bf16. Rounding of rotated keys and of q8_0 costs at most 0.6e-3, 5e-3 and 1.4e-2, of q4_0 0.28.
 */
function toleranceOf({ dtype, keys }) {
  if (dtype === "q8_0") return 2e-2;
  if (dtype === "q4_0") return 3e-1;
  return keys === "raw" || dtype === "f32" ? 2e-6 : { f16: 1e-3, bf16: 1e-2 }[dtype];
}

for (const given of cases) {
  for (const kind of kinds) {
    test(`${given.name}: ${kind.dtype}, ${kind.keys}`, () => {
      const { q_shape, kv_shape, options, lengths, outs } = given;
      const [, heads, longest, d] = q_shape;
      const { window } = options; // causal, without cap or sinks; the scale is the plan's
      const rope = configOf(given);
      withRope(rw.kvCache({ rope, kvHeads: kv_shape[1], maxLength: longest, ...kind }), (cache) => {
        lengths.forEach((length, i) => {
          const first = i === 0 ? 0 : lengths[i - 1];
          const take = (values, shape) => tokensOf(values, shape, first, length);
          const q = take(given.q, q_shape);
          const count = length - first;
          cache.append({
            q,
            k: take(given.k, kv_shape),
            v: take(given.v, kv_shape),
            layout: "bhtd",
            shape: [1, kv_shape[1], count, d],
          });
          const answers = cache.attend(q, { layout: "bhtd", shape: [1, heads, count, d], window });
          const newest = tokensOf(answers, [1, heads, count, d], count - 1, count);
          close(newest, outs[i], toleranceOf(kind), `${length} tokens`);
        });
      });
    });
  }
}

const base = { head_dim: 16, pairing: "half" };
const ropes = {
  dynamic: { ...base, max_position_embeddings: 32, rope_scaling: { rope_type: "dynamic", factor: 2 } },
  dynamic_yarn: {
    ...base,
    max_position_embeddings: 32,
    rope_scaling: { rope_type: "dynamic_yarn", factor: 4, original_max_position_embeddings: 32 },
  },
  longrope: {
    ...base,
    max_position_embeddings: 128,
    rope_scaling: {
      rope_type: "longrope",
      short_factor: range(0, 8).map((i) => 1 + i / 20),
      long_factor: range(0, 8).map((i) => 1 + i / 2),
      original_max_position_embeddings: 40,
      factor: 3.2,
    },
  },
};
const layers = [{ kvHeads: 2, headDim: 16 }];
const tokens = makeTokens(100, layers);

for (const [type, rope] of Object.entries(ropes)) {
  for (const kind of kinds) {
    test(`${type}: append crosses plan boundaries in both directions: ${kind.dtype}, ${kind.keys}`, () => {
      withRope(rw.kvCache({ rope, kvHeads: 2, maxLength: 100, ...kind }), (cache) => {
        let length = 0;
        for (const [roundings, end] of [20, 32, 33, 40, 41, 50, 90].entries()) {
          appendAll(cache, pick(tokens, range(length, end)));
          expectFresh(cache, pick(tokens, range(0, end)), range(0, end), { roundings, message: `${end} tokens` });
          length = end;
        }
        cache.truncate(25);
        appendAll(cache, pick(tokens, range(25, 30)));
        expectFresh(cache, pick(tokens, range(0, 30)), range(0, 30), { roundings: 8, message: "back" });
        // a shift from beyond the boundary to before it
        appendAll(cache, pick(tokens, range(30, 60)));
        cache.shift({ keep: 2, discard: 40 });
        appendAll(cache, pick(tokens, [60]));
        expectFresh(cache, pick(tokens, [0, 1, ...range(42, 61)]), range(0, 21), { roundings: 11, message: "shifted" });
        // the largest position decides, not the number of tokens
        appendAll(cache, pick(tokens, [61]), { positions: 95 });
        expectFresh(cache, pick(tokens, [0, 1, ...range(42, 62)]), [...range(0, 21), 95], {
          roundings: 12,
          message: "a far position",
        });
      });
    });

    test(`each sequence uses the plan of its own length: ${type}, ${kind.dtype}, ${kind.keys}`, () => {
      withRope(rw.kvCache({ rope, kvHeads: 2, maxLength: 100, sequences: 2, ...kind }), (cache) => {
        appendAll(cache, pick(tokens, range(0, 80)), { sequence: 1 });
        appendAll(cache, pick(tokens, range(0, 20)), { sequence: 0 });
        appendAll(cache, pick(tokens, range(80, 90)), { sequence: 1 });
        expectFresh(cache, pick(tokens, range(0, 20)), range(0, 20), { sequence: 0, roundings: 0 });
        expectFresh(cache, pick(tokens, range(0, 90)), range(0, 90), { sequence: 1 });
        const q = randomFloats(2 * 64, 5);
        const together = cache.attend(q, { layout: "bthd", shape: [2, 1, 4, 16] });
        for (const sequence of [0, 1]) {
          const alone = cache.attend(q.slice(sequence * 64, sequence * 64 + 64), {
            layout: "thd",
            shape: [1, 4, 16],
            sequence,
          });
          close(alone, together.slice(sequence * 64, sequence * 64 + 64), 0, "each with its own scale");
        }
      });
    });
  }

  test(`later layers use the plan to which the first layer re-rotated them: ${type}`, () => {
    withRope(rw.kvCache({ rope, kvHeads: 2, layers: 3, maxLength: 100, keys: "rotated" }), (cache) => {
      const layerTokens = makeTokens(70, new Array(3).fill(layers[0]));
      for (const [first, end] of [
        [0, 30],
        [30, 60],
        [60, 70],
      ])
        appendAll(cache, pick(layerTokens, range(first, end)));
      expectFresh(cache, layerTokens, range(0, 70), { roundings: 2 });
    });
  });
}

test("ropes that depend on the length together with ropes that don't", () => {
  const uneven = [{ rope: ropes.dynamic }, { rope: base }, { rope: ropes.longrope }, { rope: null }];
  for (const keys of ["rotated", "raw"]) {
    withRope(rw.kvCache({ layers: uneven, kvHeads: 2, headDim: 16, maxLength: 100, keys }), (cache) => {
      const layerTokens = makeTokens(60, new Array(4).fill(layers[0]));
      for (const [first, end] of [
        [0, 30],
        [30, 41],
        [41, 60],
      ])
        appendAll(cache, pick(layerTokens, range(first, end)));
      expectFresh(cache, layerTokens, range(0, 60), { roundings: 2 });
      cache.retune({ rope: ropes.dynamic_yarn, layers: 2 });
      expectFresh(cache, layerTokens, range(0, 60), { roundings: 3 });
    });
  }
});
