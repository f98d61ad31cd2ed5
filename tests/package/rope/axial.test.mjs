// The axial type, against transformers' image encoders and the formula of FLUX and Wan (tests/golden/axial.json).
import assert from "node:assert/strict";
import test from "node:test";
import { golden } from "../helpers/golden.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const cases = golden("axial");

test("has all cases", () => assert.equal(cases.length, 10));

for (const { name, config, shape, positions, q, rotated } of cases) {
  for (const precision of ["exact", "hf"]) {
    test(`${name}, precision ${precision}`, () => {
      withRope(rw.rope({ ...config, precision }), (rope) => {
        const x = Float32Array.from(q);
        rope.rotate(x, { layout: "thd", shape, positions: positions.flat() });
        // angles are at most 63 here: f32 frequencies and angles are off by 63 · (2^-23 + 2^-24), cos, sin and products by 2^-23
        const worst = Math.max(...rotated.map((expected, i) => Math.abs(x[i] - expected)));
        assert.ok(worst <= 3e-5, `off by ${worst}`);
      });
    });
  }
}

const plain = { head_dim: 64, pairing: "half" };
const axial = (scaling, more) => ({ ...plain, ...more, rope_scaling: { rope_type: "axial", ...scaling } });

test("without axes_dim there are two equal axes, which is also M-RoPE's layout vision", () => {
  withRope(rw.rope(axial({})), (rope) => {
    withRope(rw.rope({ ...plain, mrope_section: [16, 16], mrope_layout: "vision" }), (vision) => {
      assert.deepEqual(rope.plan().inv_freq, vision.plan().inv_freq);
      assert.deepEqual(rope.plan().axis_of_pair, vision.plan().axis_of_pair);
    });
  });
});

test("positions may be fractional and differ by axis", () => {
  withRope(rw.rope(axial({ axes_dim: [16, 24, 24] })), (rope) => {
    assert.equal(rope.axes, 3);
    const { cos, inv_freq = rope.plan().inv_freq } = rope.table([0.25, -1.5, 7]);
    const at = [0.25, -1.5, 7];
    rope.plan().axis_of_pair.forEach((axis, pair) => {
      assert.ok(Math.abs(cos[pair] - Math.cos(at[axis] * inv_freq[pair])) < 2 ** -24, `pair ${pair}`);
    });
  });
});

test("wrong axes are errors that name the key", () => {
  const wrong = [
    [{ axes_dim: [16, 16] }, "INVALID_CONFIG", "rope_scaling.axes_dim"],
    [{ axes_dim: [15, 49] }, "INVALID_CONFIG", "rope_scaling.axes_dim"],
    [{ axes_dim: [] }, "INVALID_CONFIG", "rope_scaling.axes_dim"],
    [{ axes_dim: [16, 48], axes_layout: "shared" }, "INVALID_CONFIG", "rope_scaling.axes_dim"],
    [{ axes_dim: [32, 32], axes_layout: "vision" }, "INVALID_CONFIG", "rope_scaling.axes_layout"],
    [{ mrope_section: [16, 16] }, "UNKNOWN_KEY", "rope_scaling.mrope_section"],
    [{ mrope_layout: "vision" }, "UNKNOWN_KEY", "rope_scaling.mrope_layout"],
    [{ factor: 2 }, "UNKNOWN_KEY", "rope_scaling.factor"],
  ];
  for (const [scaling, code, field] of wrong) {
    assert.throws(() => rw.rope(axial(scaling)), { code, field }, JSON.stringify(scaling));
  }
  assert.throws(() => rw.rope({ ...plain, rope_scaling: { rope_type: "default", axes_dim: [32, 32] } }), {
    code: "UNKNOWN_KEY",
    field: "rope_scaling.axes_dim",
  });
});

test("describe has the axis of each pair", () => {
  const { pairs, counts, plan } = rw.describe(axial({ axes_dim: [16, 24, 24] }));
  assert.equal(plan.axes, 3);
  assert.deepEqual([pairs[0].axis, pairs[8].axis, pairs[31].axis], [0, 1, 2]);
  assert.equal(counts.kept, 32);
});
