// rope.rotate gives the same queries and keys as the functions of transformers (tests/golden/rotations.json).
import assert from "node:assert/strict";
import test from "node:test";
import { configOf, golden } from "../helpers/golden.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const cases = golden("rotations");
const frequencies = golden("frequencies");

test("has all cases", () => assert.equal(cases.length, 41));

/** The f32 frequencies of transformers for the same config, if frequencies.json has them. */
function transformersFrequencies({ hf_config, layer_type, positions }) {
  const length = Math.max(...positions.flat(Infinity)) + 1;
  const fits = ({ seq_len }) => seq_len === null || seq_len === length;
  return frequencies.find(
    (other) =>
      other.layer_type === layer_type && fits(other) && JSON.stringify(other.hf_config) === JSON.stringify(hf_config),
  )?.inv_freq;
}

/**
 * Tolerance of an element, relative to the length of its pair. Both sides round cos, sin, the products and their sum (1e-6 in all). Angles differ
 * by the position times the difference of the frequencies, plus an ulp of the f32 angle if they differ at all. For frequencies that
 * frequencies.json doesn't have, the difference is at most 5e-7, like that of the others.
 */
function toleranceOf(inv_freq, reference, pair, position) {
  if (reference !== undefined && Math.fround(reference[pair]) === Math.fround(inv_freq[pair])) return 1e-6;
  const error = reference === undefined ? 5e-7 * inv_freq[pair] : Math.abs(reference[pair] - inv_freq[pair]);
  return 1e-6 + Math.abs(position) * (error + 2 ** -23 * inv_freq[pair]);
}

/** The elements of pair j in the source and in the result, counted from the start of the head. */
function indicesOf(pairing, pairs, j) {
  const half = [j, j + pairs];
  const adjacent = [2 * j, 2 * j + 1];
  return { half: [half, half], interleaved: [adjacent, adjacent], interleaved_to_half: [adjacent, half] }[pairing];
}

/** One rope for a case, or one per span if each axis rotates its own span (Gemma 4's vision tower: two of 32, base 100). */
function spansOf(golden, precision) {
  if (golden.axis_spans === undefined)
    return [{ config: configOf(golden, { precision }), positions: golden.positions.flat(Infinity) }];
  const { rope_theta } = golden.hf_config.vision_config.rope_parameters;
  return golden.axis_spans.map((rotary_dim, axis) => ({
    config: {
      head_dim: golden.rotary_dim,
      pairing: "half",
      rope_theta,
      rotary_dim,
      rotary_offset: rotary_dim * axis,
      precision,
    },
    positions: golden.positions[axis].flat(),
  }));
}

/** Rotates one span, and checks its elements. */
function checkSpan(golden, operand, x, { config, positions }) {
  const expected = golden[`${operand}_rotated`];
  const original = golden[operand];
  const shape = golden[`${operand}_shape`];
  const inverse = Boolean(golden.inverse);
  withRope(rw.rope(config), (rope) => {
    rope.rotate(x, { layout: golden.layout, shape, positions, inverse, role: operand === "q" ? "query" : "key" });
    const plan = rope.plan(Math.max(1, ...positions.map((p) => Math.ceil(p) + 1)));
    const reference = transformersFrequencies(golden);
    const [batches, heads, tokens, head_dim] = shape;
    const pairs = plan.inv_freq.length;
    const axes = positions.length / (batches * tokens);
    for (let row = 0; row < batches * heads * tokens; row++) {
      const token = row % tokens;
      const batch = Math.floor(row / tokens / heads);
      for (let j = 0; j < pairs; j++) {
        const axis = axes === 1 ? 0 : plan.axis_of_pair[j];
        const position = positions[(axis * batches + batch) * tokens + token];
        const [read, write] = indicesOf(golden.pairing, pairs, j).map((indices) =>
          indices.map((index) => row * head_dim + plan.rotary_offset + index),
        );
        const radius = Math.hypot(original[read[0]], original[read[1]]) * plan.attention_factor;
        const tolerance = radius * toleranceOf(plan.inv_freq, reference, j, position);
        for (const i of write) {
          assert.ok(
            Math.abs(x[i] - expected[i]) <= tolerance,
            `${operand}[${i}], pair ${j} at ${position}: ${x[i]} instead of ${expected[i]}, tolerance ${tolerance}`,
          );
        }
      }
    }
  });
  return positions;
}

for (const golden of cases) {
  test(golden.name, () => {
    for (const operand of ["q", "k"]) {
      const x = Float32Array.from(golden[operand]);
      for (const span of spansOf(golden, "hf")) {
        if (golden.axis_spans === undefined) {
          assert.equal(span.config.pairing, golden.pairing);
          withRope(rw.rope(span.config), (rope) => {
            const { rotary_dim, rotary_offset } = rope.plan();
            assert.deepEqual(
              { rotary_dim, rotary_offset },
              { rotary_dim: golden.rotary_dim, rotary_offset: golden.rotary_offset },
            );
          });
        }
        checkSpan(golden, operand, x, span);
      }
      // elements that aren't rotated keep their bits
      const head_dim = golden[`${operand}_shape`].at(-1);
      const end = golden.rotary_offset + golden.rotary_dim;
      golden[operand].forEach((value, i) => {
        const d = i % head_dim;
        if (d < golden.rotary_offset || d >= end)
          assert.equal(x[i], value, `${operand}[${i}] is outside the rotary span`);
      });
    }
  });
}

/**
 * With exact arithmetic. The angles of transformers, in f32, are off by position · inv_freq · (5e-7 for the frequency, 2^-24 for the product):
 * roughly 4e-4 at positions up to 4096 and 1e-2 beyond (tests/golden/README.md has 1e-7 for the factor). In longrope, cos and sin have a factor.
 */
for (const golden of cases) {
  test(`${golden.name}: with precision exact`, () => {
    for (const operand of ["q", "k"]) {
      const x = Float32Array.from(golden[operand]);
      for (const span of spansOf(golden, "exact")) checkSpan({ ...golden, hf_config: null }, operand, x, span);
      const worst = Math.max(...golden[`${operand}_rotated`].map((expected, i) => Math.abs(x[i] - expected)));
      assert.ok(worst <= (golden.long ? 2e-2 : 1e-3), `off by ${worst}`);
    }
  });
}
