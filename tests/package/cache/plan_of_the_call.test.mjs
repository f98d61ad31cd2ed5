// Positions are checked under the plan that a call uses, not under the one that the call before it used.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats } from "../helpers/arrays.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

/** A longrope whose plan for short, or for long, sequences has a frequency of 1e6, and so takes no position beyond 4294. */
const config = (fast) => ({
  head_dim: 8,
  pairing: "half",
  max_position_embeddings: 48,
  rope_scaling: {
    rope_type: "longrope",
    original_max_position_embeddings: 24,
    short_factor: [fast === "short" ? 1e-6 : 1, 1, 1, 1],
    long_factor: [fast === "long" ? 1e-6 : 1, 1, 1, 1],
  },
});
const x = randomFloats(8);
const one = { layout: "thd", shape: [1, 1, 8] };
/** Position, and whether the plan for it is the long one. */
const places = [
  [3, false],
  [1e5, true],
  [-1e5, false],
  [100, true],
  [2 ** 31 - 0.5, true],
];

const outcome = (act) => {
  try {
    act();
    return "fine";
  } catch (error) {
    return error.code;
  }
};

for (const fast of ["short", "long"]) {
  const expected = (position, isLong) =>
    Math.abs(position) < 4000 || isLong !== (fast === "long") ? "fine" : "INVALID_POSITION";

  test(`a rope whose ${fast} plan is the fast one: after every other position`, () => {
    withRope(rw.rope(config(fast)), (rope) => {
      const calls = {
        rotate: (at) => rope.rotate(x.slice(), { ...one, positions: at }),
        "rotate a tensor": (at) =>
          withRope(rw.tensor([1, 1, 8]), (tensor) => rope.rotate(tensor, { layout: "thd", positions: [at] })),
        table: (at) => rope.table([at]),
        rerotate: (at) => rope.rerotate(x.slice(), { ...one, from: { positions: at }, to: { positions: at } }),
        attention: (at) => rw.attention(x, x, x, { ...one, rope, positions: at, kvPositions: at }),
        "attention with arrays of ids": (at) =>
          rw.attention(x, x, x, { ...one, rope, positions: [at], kvPositions: [at] }),
      };
      for (const [name, call] of Object.entries(calls)) {
        for (const [before] of places) {
          for (const [position, isLong] of places) {
            outcome(() => call(before));
            const message = `${name} at ${position} after ${before}`;
            assert.equal(
              outcome(() => call(position)),
              expected(position, isLong),
              message,
            );
          }
        }
      }
    });
  });

  test(`a cache of such a rope, whose other sequence is anywhere: ${fast}`, () => {
    for (const keys of ["rotated", "raw"]) {
      for (const [before] of places) {
        for (const [position, isLong] of places) {
          withRope(rw.kvCache({ rope: config(fast), kvHeads: 1, maxLength: 4, sequences: 2, keys }), (cache) => {
            const append = (sequence, positions) => cache.append({ k: x, v: x, ...one, sequence, positions });
            outcome(() => append(0, before));
            assert.equal(
              outcome(() => append(1, position)),
              expected(position, isLong),
              `${keys}, ${position} after ${before}`,
            );
          });
        }
      }
    }
  });
}

test("the length of queries and keys together decides the plan of attention", () => {
  withRope(rw.rope(config("long")), (rope) => {
    const call = (positions, kvPositions) =>
      outcome(() => rw.attention(x, x, x, { ...one, rope, positions, kvPositions }));
    assert.equal(call(-1e5, 3), "fine");
    assert.equal(call(-1e5, 100), "INVALID_POSITION", "the keys make the sequence long");
    assert.equal(call(3, -1e5), "fine");
    assert.equal(call(100, -1e5), "INVALID_POSITION");
  });
});
