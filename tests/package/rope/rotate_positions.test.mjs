// All forms of positions for rope.rotate.
import assert from "node:assert/strict";
import test from "node:test";
import { close, product, randomFloats, sameBits } from "../helpers/arrays.mjs";
import { referenceRotate, rounding } from "../helpers/reference.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 64, pairing: "half" };
const [B, T, H, D] = [3, 5, 2, 64];
const shape = [B, T, H, D];
const x = () => randomFloats(product(shape), 11);

function rotated(positions, rope, options = {}) {
  return rope.rotate(x(), { layout: "bthd", shape, positions, ...options });
}

/** Compares with the reference implementation, at `position(batch, token, axis)`. */
function check(rope, positions, position, extra = 0, options = {}) {
  for (const [layout, order] of [
    ["bthd", [B, T, H, D]],
    ["bhtd", [B, H, T, D]],
  ]) {
    const given = x();
    const expected = referenceRotate(given, rope.plan(), { layout, shape: order, position });
    const tolerance = (i) => rounding(expected.radius)(i) + extra * expected.radius[i];
    close(rope.rotate(given, { layout, shape: order, positions, ...options }), expected.rotated, tolerance, layout);
  }
}

test("a number: the same offset in every row", () => {
  withRope(rw.rope(config), (rope) => {
    for (const offset of [0, 1, 63, 64, 4095, -7, -64, 0.5, -1000.25]) check(rope, offset, (_, t) => offset + t);
  });
});

test("an array of T ids, shared by all rows; in any order, repeated, negative, fractional", () => {
  withRope(rw.rope(config), (rope) => {
    for (const ids of [
      [0, 1, 2, 3, 4],
      [4, 4, 0, 1023, 17],
      [-1, -700, 3, -1048576, 1048576],
      [0.5, 2.25, 100.125, -3.75, 1e-3],
    ]) {
      check(rope, ids, (_, t) => ids[t]);
    }
  });
});

test("an array of B·T ids: separate ids for each batch row", () => {
  withRope(rw.rope(config), (rope) => {
    const ids = [5, 6, 7, 8, 9, 0, 0, 0, 1, 2, 900, -3, 0.5, 70, 1];
    check(rope, ids, (b, t) => ids[b * T + t]);
  });
});

test("every array type gives the same result", () => {
  const ids = [0, 3, 17, 2, 4095];
  withRope(rw.rope(config), (rope) => {
    const expected = rotated(ids, rope);
    for (const Kind of [Int32Array, Uint32Array, Float32Array, Float64Array])
      sameBits(rotated(Kind.from(ids), rope), expected, Kind.name);
    sameBits(rotated(Float64Array.from([9, ...ids, 9]).subarray(1, 6), rope), expected, "a subarray");
  });
});

test("an offset and the equivalent ids give the same bits", () => {
  withRope(rw.rope(config), (rope) => {
    for (const offset of [0, 61, 2 ** 20, -130]) {
      const ids = Array.from({ length: T }, (_, t) => offset + t);
      sameBits(rotated(ids, rope), rotated(offset, rope), `offset ${offset}`);
      sameBits(rotated([...ids, ...ids, ...ids], rope), rotated(offset, rope), `rows at ${offset}`);
    }
  });
});

test("the result of a token doesn't depend on other tokens and rows", () => {
  withRope(rw.rope(config), (rope) => {
    const ids = [3, 900, 4, 70000, 5];
    const together = rotated(ids, rope);
    const alone = x();
    for (let b = 0; b < B; b++) {
      for (let t = 0; t < T; t++) {
        const at = (b * T + t) * H * D;
        rope.rotate(alone.subarray(at, at + H * D), { layout: "thd", shape: [1, H, D], positions: ids[t] });
      }
    }
    sameBits(alone, together);
  });
});

const mrope = {
  chunked: { ...config, rope_scaling: { rope_type: "default", mrope_section: [8, 12, 12] } },
  interleaved: {
    ...config,
    rope_scaling: { rope_type: "default", mrope_section: [12, 10, 10], mrope_layout: "interleaved" },
  },
  ernie: {
    ...config,
    pairing: "interleaved",
    rope_scaling: { rope_type: "default", mrope_section: [11, 11, 10], mrope_layout: "ernie" },
  },
  vision: { ...config, rope_scaling: { rope_type: "default", mrope_section: [16, 16], mrope_layout: "vision" } },
};

for (const [name, given] of Object.entries(mrope)) {
  test(`several axes: ${name}`, () => {
    withRope(rw.rope(given), (rope) => {
      const plan = rope.plan();
      assert.equal(rope.axes, given.rope_scaling.mrope_section.length);
      // each axis rotates the pairs of its section
      const pairs = given.rope_scaling.mrope_section.map(
        (_, axis) => plan.axis_of_pair.filter((a) => a === axis).length,
      );
      assert.deepEqual([...pairs].sort(), [...given.rope_scaling.mrope_section].sort());

      const A = rope.axes;
      const shared = Array.from({ length: A * T }, (_, i) => (i * 37) % 101);
      check(rope, shared, (_, t, axis) => shared[axis * T + t], 0, { axes: A });
      const perRow = Array.from({ length: A * B * T }, (_, i) => (i * 53) % 211);
      check(rope, perRow, (b, t, axis) => perRow[(axis * B + b) * T + t]);
    });
  });
}

test("several axes at one position, as for text tokens: a number, T ids, and ids for all axes", () => {
  withRope(rw.rope(mrope.interleaved), (rope) => {
    const ids = [4, 5, 6, 7, 8];
    const expected = rotated(4, rope);
    sameBits(rotated(ids, rope), expected, "T ids");
    sameBits(rotated([...ids, ...ids, ...ids], rope, { axes: 3 }), expected, "A · T ids");
    sameBits(rotated([...ids, ...ids, ...ids], rope, { axes: 1 }), expected, "B · T ids");
    withRope(rw.rope(config), (plain) => sameBits(rotated(4, plain), expected, "same as a rope of one axis"));
  });
});

test("several axes at one position, with separate ids for each batch row", () => {
  withRope(rw.rope(mrope.interleaved), (rope) => {
    const order = [2, T, H, D];
    const given = x().slice(0, product(order));
    const ids = [5, 6, 7, 8, 9, 100, 0, 3, 900, -3];
    const expected = referenceRotate(given, rope.plan(), {
      layout: "bthd",
      shape: order,
      position: (b, t) => ids[b * T + t],
    });
    close(
      rope.rotate(given, { layout: "bthd", shape: order, positions: ids }),
      expected.rotated,
      rounding(expected.radius),
    );
  });
});

test("the smallest and the largest position", () => {
  withRope(rw.rope(config), (rope) => {
    const least = -(2 ** 31);
    const last = 2 ** 31 - T;
    for (const first of [least, last]) {
      const ids = Array.from({ length: T }, (_, t) => first + t);
      sameBits(rotated(ids, rope), rotated(first, rope));
      check(rope, first, (_, t) => first + t, 2 ** -22); // half an ulp of an angle of 2^31, which the reference implementation rounds to f64
    }
  });
});

test("seqLen, or else the largest position, determines the plan", () => {
  const dynamic = { ...config, max_position_embeddings: 64, rope_scaling: { rope_type: "dynamic", factor: 2 } };
  withRope(rw.rope(dynamic), (rope) => {
    const at = (positions, seqLen) => {
      const given = x();
      const { rotated: expected, radius } = referenceRotate(given, rope.plan(seqLen), {
        layout: "bthd",
        shape,
        position: (_, t) => (typeof positions === "number" ? positions + t : positions[t]),
      });
      return { given, expected, tolerance: rounding(radius) };
    };
    for (const [positions, given, length] of [
      [0, undefined, 5],
      [59, undefined, 64],
      [60, undefined, 65],
      [500, undefined, 505],
      [[900, 0, 1, 2, 3], undefined, 901],
      [0, 4096, 4096],
      [500, 1, 1],
    ]) {
      const { given: input, expected, tolerance } = at(positions, length);
      rope.rotate(input, { layout: "bthd", shape, positions, ...(given !== undefined && { seqLen: given }) });
      close(input, expected, tolerance, `positions ${positions}, seqLen ${given},`);
    }
  });
});
