// rope.rerotate: keys moved to other positions, lengths and ropes equal keys that are rotated there from the start.
import assert from "node:assert/strict";
import test from "node:test";
import { close, product, randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 64, pairing: "half", rope_theta: 5e5 };
const yarn = (factor, more) => ({
  ...config,
  ...more,
  rope_scaling: { rope_type: "yarn", factor, original_max_position_embeddings: 4096 },
});
const shape = [2, 3, 8, 64];
const layout = "bhtd";
const keys = () => randomFloats(product(shape), 17);

/**
 * Three rotations instead of one, each with an error of 4 · 2^-24 of the length of its pair (reference.mjs). The length is below 2√2 times the
 * attention factors (at most 1.35 here).
 */
const tolerance = 3 * 4 * 2 ** -24 * 2 * Math.SQRT2 * 1.35;

function expectFresh(fromRope, from, toRope, to, message) {
  const expected = toRope.rotate(keys(), { layout, shape, role: "key", ...to });
  const moved = fromRope.rotate(keys(), { layout, shape, role: "key", ...from });
  fromRope.rerotate(moved, { layout, shape, from, to: { ...to, rope: toRope } });
  close(moved, expected, tolerance, message);
}

const ids = [5, 4, 0, 17, 4095, 1023, 99, 2];
const places = [0, 4096, -100, ids, [...ids, ...ids.toReversed()], [0.5, 1, 2, 3, 4, 5, 6, 7]];

for (const pairing of ["half", "interleaved", "interleaved_to_half"]) {
  test(`to other positions: ${pairing}`, () => {
    withRope(rw.rope({ ...config, pairing, rotary_dim: 48, rotary_offset: 16 }), (rope) => {
      for (const from of places)
        for (const to of places) expectFresh(rope, { positions: from }, rope, { positions: to }, `${from} → ${to}`);
    });
  });
}

test("between ropes with another base, another factor, or no scaling", () => {
  const configs = [
    config,
    { ...config, rope_theta: 1e6 },
    yarn(4),
    yarn(32),
    { ...config, rope_scaling: { rope_type: "linear", factor: 4 } },
  ];
  const ropes = configs.map((given) => rw.rope(given));
  for (const a of ropes)
    for (const b of ropes)
      expectFresh(
        a,
        { positions: 100 },
        b,
        { positions: ids },
        `${JSON.stringify(a.config)} → ${JSON.stringify(b.config)}`,
      );
  // called on either rope, or on a third one
  const moved = ropes.map((rope) => {
    const x = ropes[0].rotate(keys(), { layout, shape, positions: 3 });
    return rope.rerotate(x, {
      layout,
      shape,
      from: { positions: 3, rope: ropes[0] },
      to: { positions: 9, rope: ropes[2] },
    });
  });
  for (const x of moved) sameBits(x, moved[0]);
  for (const rope of ropes) rope.dispose();
});

test("between lengths of one rope with length-dependent frequencies", () => {
  const dynamic = { ...config, max_position_embeddings: 64, rope_scaling: { rope_type: "dynamic", factor: 2 } };
  withRope(rw.rope(dynamic), (rope) => {
    expectFresh(rope, { positions: 0, seqLen: 8 }, rope, { positions: 0, seqLen: 200 }, "grown");
    expectFresh(rope, { positions: 0, seqLen: 200 }, rope, { positions: 0, seqLen: 8 }, "shrunk");
    expectFresh(rope, { positions: 0 }, rope, { positions: 500 }, "length from the positions");
    const kept = rope.rotate(keys(), { layout, shape, positions: 0, seqLen: 200 });
    const stale = rope.rotate(keys(), { layout, shape, positions: 0 });
    assert.notDeepEqual(kept, stale, "the two lengths have different frequencies");
  });
});

test("keys keep all bits if nothing changes", () => {
  for (const given of [config, yarn(4), { ...config, xpos: { scale_base: 512 } }]) {
    withRope(rw.rope(given), (rope) => {
      for (const positions of places) {
        const x = keys();
        x[0] = NaN;
        x[1] = -0;
        sameBits(
          rope.rerotate(x.slice(), { layout, shape, from: { positions }, to: { positions } }),
          x,
          `at ${positions}`,
        );
      }
      const some = rope.rerotate(keys(), {
        layout,
        shape,
        from: { positions: ids },
        to: { positions: [5, 40, 0, 17, 40, 1023, 99, 40] },
      });
      for (const [t, isMoved] of [false, true, false, false, true, false, false, true].entries()) {
        for (let head = 0; head < 6; head++) {
          const at = (head * 8 + t) * 64;
          assert.equal(
            Buffer.from(some.slice(at, at + 64).buffer).equals(Buffer.from(keys().slice(at, at + 64).buffer)),
            !isMoved,
            `token ${t}, head ${head}`,
          );
        }
      }
    });
  }
});

test("a shift only rotates: a hundred shifts scale nothing, and the attention factor is applied once", () => {
  withRope(rw.rope(yarn(16)), (rope) => {
    const original = rope.rotate(keys(), { layout, shape, positions: 1000 });
    const moved = original.slice();
    for (let i = 0; i < 100; i++)
      rope.rerotate(moved, { layout, shape, from: { positions: 1000 - i }, to: { positions: 999 - i } });
    const length = (x, i) => Math.hypot(x[i], x[i + 32]);
    for (let i = 0; i < moved.length; i++) {
      if (i % 64 >= 32) continue;
      // each of 100 rotations has an error of 4 · 2^-24 at most
      assert.ok(
        Math.abs(length(moved, i) - length(original, i)) <= 100 * 4 * 2 ** -24 * length(original, i),
        `pair at ${i}`,
      );
    }
    close(
      moved,
      rope.rotate(keys(), { layout, shape, positions: 900 }),
      100 * tolerance,
      "keys are at their new positions",
    );
  });
});

test("a round trip", () => {
  withRope(rw.rope(config), (rope) =>
    withRope(rw.rope(yarn(8)), (other) => {
      const original = rope.rotate(keys(), { layout, shape, positions: 7 });
      const moved = original.slice();
      const [here, there] = [{ positions: 7 }, { positions: 5000, rope: other }];
      rope.rerotate(moved, { layout, shape, from: here, to: there });
      assert.notDeepEqual(moved, original);
      rope.rerotate(moved, { layout, shape, from: there, to: here });
      close(moved, original, tolerance);
    }),
  );
});

test("xPos: keys keep the scale of keys", () => {
  withRope(rw.rope({ ...config, xpos: { scale_base: 512, center: 100 } }), (rope) => {
    expectFresh(rope, { positions: 100 }, rope, { positions: 130 }, "forward");
    expectFresh(rope, { positions: ids.map((p) => p % 300) }, rope, { positions: 3 }, "back");
  });
});

test("several axes", () => {
  withRope(rw.rope({ ...config, rope_scaling: { rope_type: "default", mrope_section: [8, 12, 12] } }), (rope) => {
    const planes = Array.from({ length: 3 * 8 }, (_, i) => (i * 29) % 83);
    expectFresh(rope, { positions: planes }, rope, { positions: planes.toReversed() }, "planes");
    expectFresh(rope, { positions: 0 }, rope, { positions: planes }, "from text positions");
  });
});

test("tensors, 16-bit keys, out, and all layouts", () => {
  withRope(rw.rope(config), (rope) => {
    const move = { from: { positions: 100 }, to: { positions: 40 } };
    const expected = rope.rerotate(keys(), { layout, shape, ...move });
    const tensor = rw.tensor(shape).set(keys());
    assert.equal(rope.rerotate(tensor, { layout, ...move }), tensor);
    sameBits(tensor.data.slice(), expected, "tensor");
    tensor.dispose();

    const out = new Float32Array(expected.length);
    const x = keys();
    assert.equal(rope.rerotate(x, { layout, shape, ...move, out }), out);
    sameBits(out, expected, "out");
    sameBits(x, keys(), "x");

    for (const dtype of ["f16", "bf16"]) {
      const { bits, floats } = to16Bits(keys(), dtype);
      const rounded = to16Bits(rope.rerotate(floats, { layout, shape, ...move }), dtype).bits;
      sameBits(rope.rerotate(bits, { layout, shape, dtype, ...move }), rounded, dtype);
    }

    const thd = keys().slice(0, 8 * 2 * 64);
    const bthd = thd.slice();
    sameBits(
      rope.rerotate(thd, { layout: "thd", shape: [8, 2, 64], ...move }),
      rope.rerotate(bthd, { layout: "bthd", shape: [1, 8, 2, 64], ...move }),
      "thd",
    );
  });
});

test("ropes with different geometry are rejected", () => {
  withRope(rw.rope(config), (rope) => {
    const others = [
      { rotary_dim: 32 },
      { rotary_dim: 32, rotary_offset: 8 },
      { pairing: "interleaved" },
      { rope_scaling: { rope_type: "default", mrope_section: [16, 16] } },
    ];
    for (const other of others) {
      withRope(rw.rope({ ...config, ...other }), (to) => {
        const x = keys();
        raises(
          () => rope.rerotate(x, { layout, shape, from: { positions: 0 }, to: { positions: 1, rope: to } }),
          "INVALID_ARGUMENT",
          "to",
        );
        sameBits(x, keys(), "x");
      });
    }
  });
});
