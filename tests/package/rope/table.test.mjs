// rope.table: accuracy of cos and sin, layouts, element types, positions, and agreement with rope.rotate.
import assert from "node:assert/strict";
import test from "node:test";
import { sameBits, to16Bits, toBits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 128, pairing: "half", rope_theta: 1e6 };
const yarn = { ...config, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 4096 } };

/**
 * Cosine and sine of position · w, more accurate than with the f64 product: the product is split exactly into head + rest, and the rest (at most
 * half an ulp of the head) is added to the angle to first order. The error is about 1e-16 if Math.cos is exact.
 */
function exactAngle(position, w) {
  const head = position * w;
  const split = (value) => {
    const high = Math.fround(value);
    return [high, value - high];
  };
  const [[p1, p2], [w1, w2]] = [split(position), split(w)];
  const rest = p1 * w1 - head + p1 * w2 + p2 * w1 + p2 * w2; // each product of halves is exact, except for the last
  return { cos: Math.cos(head) - rest * Math.sin(head), sin: Math.sin(head) + rest * Math.cos(head) };
}

test("f32 values are within 2^-24 of the exact ones, at positions up to 2^24", () => {
  withRope(rw.rope(config), (rope) => {
    const { inv_freq } = rope.plan();
    const positions = [
      0,
      1,
      2,
      63,
      64,
      65,
      4095,
      131071,
      131072,
      999983,
      2 ** 20,
      2 ** 24 - 1,
      2 ** 24,
      0.5,
      100.125,
      12345.678,
      -1,
      -131071,
      -0.25,
    ];
    const { cos, sin, shape } = rope.table(positions);
    assert.deepEqual(shape, [positions.length, 64]);
    positions.forEach((position, row) => {
      for (let pair = 0; pair < 64; pair++) {
        const expected = exactAngle(position, inv_freq[pair]);
        for (const [name, table] of [
          ["cos", cos],
          ["sin", sin],
        ]) {
          const error = Math.abs(table[row * 64 + pair] - expected[name]);
          assert.ok(error <= 2 ** -24, `${name} of pair ${pair} at ${position} is off by ${error}`);
        }
      }
    });
  });
});

test("the attention factor multiplies cos and sin", () => {
  withRope(rw.rope(yarn), (rope) => {
    const { attention_factor, inv_freq } = rope.plan();
    assert.ok(Math.abs(attention_factor - (1 + 0.1 * Math.log(4))) < 1e-15);
    const { cos, sin } = rope.table([1000]);
    inv_freq.forEach((w, pair) => {
      const { cos: c, sin: s } = exactAngle(1000, w);
      assert.ok(
        Math.abs(cos[pair] - attention_factor * c) <= 2 ** -23 &&
          Math.abs(sin[pair] - attention_factor * s) <= 2 ** -23,
        `pair ${pair}`,
      );
    });
  });
});

test("layouts: one value per pair, or one per element in either pairing", () => {
  for (const rotary_dim of [2, 10, 128]) {
    withRope(rw.rope({ ...yarn, rotary_dim }), (rope) => {
      const pairs = rotary_dim / 2;
      const compact = rope.table(70);
      assert.deepEqual(compact.shape, [70, pairs]);
      for (const [layout, pairOf] of [
        ["half", (d) => d % pairs],
        ["interleaved", (d) => Math.floor(d / 2)],
      ]) {
        const wide = rope.table(70, { layout });
        assert.deepEqual(wide.shape, [70, rotary_dim]);
        for (const name of ["cos", "sin"]) {
          const expected = Float32Array.from(
            { length: 70 * rotary_dim },
            (_, i) => compact[name][Math.floor(i / rotary_dim) * pairs + pairOf(i % rotary_dim)],
          );
          sameBits(wide[name], expected, `${layout} ${name}`);
        }
      }
    });
  }
});

test("f16 and bf16 are rounded once, from f64", () => {
  withRope(rw.rope(config), (rope) => {
    const { inv_freq } = rope.plan();
    const positions = Array.from({ length: 500 }, (_, i) => i * 131);
    for (const dtype of ["f16", "bf16"]) {
      const table = rope.table(positions, { dtype });
      for (const name of ["cos", "sin"]) {
        positions.forEach((position, row) => {
          for (let pair = 0; pair < 64; pair++) {
            const i = row * 64 + pair;
            const expected = toBits(exactAngle(position, inv_freq[pair])[name], dtype);
            assert.equal(table[name][i], expected, `${dtype} ${name} of pair ${pair} at ${position}`);
          }
        });
        assert.ok(table[name] instanceof Uint16Array);
      }
    }
  });
});

test("a length n means positions 0 … n−1, and equals ids of any array type", () => {
  withRope(rw.rope(config), (rope) => {
    const expected = rope.table(200);
    const ids = Array.from({ length: 200 }, (_, i) => i);
    for (const positions of [
      ids,
      Int32Array.from(ids),
      Uint32Array.from(ids),
      Float32Array.from(ids),
      Float64Array.from(ids),
    ]) {
      const table = rope.table(positions);
      sameBits(table.cos, expected.cos, "cos");
      sameBits(table.sin, expected.sin, "sin");
    }
  });
});

test("a row doesn't depend on other rows or on their number", () => {
  withRope(rw.rope(config), (rope) => {
    // 5000 rows of 64 pairs are copied through the scratch block in 5 chunks
    const long = rope.table(5000);
    for (const position of [0, 1, 1023, 1024, 1025, 4999]) {
      const one = rope.table([position]);
      sameBits(long.cos.slice(position * 64, position * 64 + 64), one.cos, `cos at ${position}`);
      sameBits(long.sin.slice(position * 64, position * 64 + 64), one.sin, `sin at ${position}`);
    }
  });
});

test("a table equals the rotation of unit vectors", () => {
  for (const given of [config, yarn, { ...yarn, xpos: { scale_base: 512 } }]) {
    withRope(rw.rope(given), (rope) => {
      for (const role of ["query", "key"]) {
        for (const inverse of [false, true]) {
          const x = new Float32Array(20 * 128).map((_, i) => (i % 128 < 64 ? 1 : 0));
          rope.rotate(x, { layout: "thd", shape: [20, 1, 128], positions: 4000, role, inverse });
          const table = rope.table(
            Array.from({ length: 20 }, (_, t) => 4000 + t),
            { role, inverse },
          );
          for (let t = 0; t < 20; t++) {
            sameBits(
              x.slice(t * 128, t * 128 + 64),
              table.cos.slice(t * 64, t * 64 + 64),
              `x of ${role}, inverse ${inverse}`,
            );
            sameBits(
              x.slice(t * 128 + 64, t * 128 + 128),
              table.sin.slice(t * 64, t * 64 + 64),
              `y of ${role}, inverse ${inverse}`,
            );
          }
        }
      }
    });
  }
});

test("several axes: separate ids for each", () => {
  withRope(rw.rope({ ...config, rope_scaling: { rope_type: "default", mrope_section: [16, 24, 24] } }), (rope) => {
    const planes = [
      [1, 2, 3, 4],
      [10, 20, 30, 40],
      [5, 5, 7, 7],
    ];
    const { cos, sin, shape } = rope.table(planes.flat());
    assert.deepEqual(shape, [4, 64]);
    const { axis_of_pair } = rope.plan();
    withRope(rw.rope(config), (plain) => {
      planes.forEach((ids, axis) => {
        const expected = plain.table(ids);
        for (let i = 0; i < cos.length; i++) {
          if (axis_of_pair[i % 64] !== axis) continue;
          assert.ok(
            Object.is(cos[i], expected.cos[i]) && Object.is(sin[i], expected.sin[i]),
            `axis ${axis}, element ${i}`,
          );
        }
      });
    });
    sameBits(
      rope.table(4).cos,
      rope.table([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]).cos,
      "a length puts all axes at the same positions",
    );
    raises(() => rope.table([1, 2, 3, 4]), "INVALID_SHAPE", "positions"); // 4 ids can't be split into 3 axes
  });
});

test("seqLen, or else the largest position, determines the plan", () => {
  const dynamic = { ...config, max_position_embeddings: 64, rope_scaling: { rope_type: "dynamic", factor: 2 } };
  const cosOf = (w, position) => Math.cos(w * position);
  withRope(rw.rope(dynamic), (rope) => {
    for (const [positions, seqLen, planned] of [
      [[63], undefined, 64],
      [[200], undefined, 201],
      [[5], 1000, 1000],
      [[200], 64, 64],
    ]) {
      const { inv_freq } = rope.plan(planned);
      const { cos } = rope.table(positions, seqLen === undefined ? {} : { seqLen });
      inv_freq.forEach((w, pair) =>
        assert.ok(
          Math.abs(cos[pair] - cosOf(w, positions[0])) <= 2 ** -24,
          `pair ${pair} at ${positions}, seqLen ${seqLen}`,
        ),
      );
    }
  });
});

test("precision hf rounds angles like transformers", () => {
  withRope(rw.rope({ ...config, precision: "hf" }), (rope) => {
    const { inv_freq } = rope.plan();
    const { cos } = rope.table([131071]);
    let unlikeExact = 0;
    inv_freq.forEach((w, pair) => {
      assert.equal(w, Math.fround(w), "frequencies are f32");
      assert.equal(cos[pair], Math.fround(Math.cos(Math.fround(131071 * w))), `pair ${pair}`);
      unlikeExact += Math.abs(cos[pair] - exactAngle(131071, w).cos) > 2 ** -24 ? 1 : 0;
    });
    assert.ok(unlikeExact > 20, "f32 angles are inexact at this position");
  });
});

test("16-bit tables contain the bits of their type", () => {
  withRope(rw.rope({ ...config, rotary_dim: 2 }), (rope) => {
    const { cos, sin } = rope.table([0], { dtype: "bf16" });
    assert.deepEqual([[...cos], [...sin]], [[0x3f80], [0]]);
    assert.deepEqual([...rope.table([0], { dtype: "f16" }).cos], [0x3c00]);
    assert.deepEqual([...rope.table([1], { dtype: "bf16" }).cos], [...to16Bits([Math.cos(1)], "bf16").bits]);
  });
});

test("out: arrays, tensors, or one of each are written in place and returned", () => {
  withRope(rw.rope(yarn), (rope) => {
    for (const [dtype, Kind] of [
      ["f32", Float32Array],
      ["f16", Uint16Array],
      ["bf16", Uint16Array],
    ]) {
      const expected = rope.table(3000, { dtype, layout: "half" }); // 3000 rows of 128: several chunks
      const length = expected.cos.length;
      const tensors = { cos: rw.tensor([length], dtype), sin: rw.tensor([length], dtype) };
      const arrays = { cos: new Kind(length), sin: new Kind(length) };
      for (const out of [arrays, tensors, { cos: tensors.sin, sin: arrays.cos }]) {
        for (const target of Object.values(out)) (target.data ?? target).fill(7);
        const table = rope.table(3000, { dtype, layout: "half", out });
        assert.ok(table.cos === out.cos && table.sin === out.sin);
        assert.deepEqual(table.shape, [3000, 128]);
        sameBits((out.cos.data ?? out.cos).slice(), expected.cos, `${dtype} cos`);
        sameBits((out.sin.data ?? out.sin).slice(), expected.sin, `${dtype} sin`);
      }
      if (dtype === "bf16")
        sameBits(
          rope.table(3000, { layout: "half", out: tensors }).cos.data.slice(),
          expected.cos,
          "a tensor has its own type",
        );
      tensors.cos.dispose();
      tensors.sin.dispose();
    }
  });
});

test("out with a wrong size or type", () => {
  withRope(rw.rope(yarn), (rope) => {
    const valid = () => new Float32Array(10 * 64);
    const bf16 = rw.tensor([640], "bf16");
    const [one, two] = [valid(), new Float32Array(2 * 640 - 1)];
    for (const [out, dtype, code, field] of [
      [{ cos: valid(), sin: new Float32Array(639) }, undefined, "INVALID_SHAPE", "out.sin"],
      [{ cos: new Float32Array(641), sin: valid() }, undefined, "INVALID_SHAPE", "out.cos"],
      [{ cos: new Float64Array(640), sin: valid() }, undefined, "INVALID_DTYPE", "out.cos"],
      [{ cos: valid() }, undefined, "INVALID_DTYPE", "out.sin"],
      [{ cos: valid(), sin: bf16 }, undefined, "INVALID_DTYPE", "dtype"],
      [{ cos: valid(), sin: valid() }, "f16", "INVALID_DTYPE", "dtype"],
      [{ cos: one, sin: one }, undefined, "INVALID_ARGUMENT", "out.sin"],
      [{ cos: two.subarray(0, 640), sin: two.subarray(639) }, undefined, "INVALID_ARGUMENT", "out.sin"],
      [{ cos: bf16, sin: bf16 }, undefined, "INVALID_ARGUMENT", "out.sin"],
    ]) {
      raises(() => rope.table(10, { out, ...(dtype && { dtype }) }), code, field);
      for (const array of Object.values(out))
        assert.ok(
          (array.data ?? array).every((value) => value === 0),
          "nothing is written",
        );
    }
    bf16.dispose();
  });
});
