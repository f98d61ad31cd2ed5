// rope.rotate: the worked example, pairings, layouts, the rotary span, grouped queries, out and inverse.
import assert from "node:assert/strict";
import test from "node:test";
import { close, product, randomFloats, sameBits } from "../helpers/arrays.mjs";
import { referenceRotate, rounding } from "../helpers/reference.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

test("the worked example: base 10000, d = 4, position 2, [1, 2, 3, 4]", () => {
  // [cos 2 − 2 sin 2, sin 2 + 2 cos 2, 3 cos 0.02 − 4 sin 0.02, 3 sin 0.02 + 4 cos 0.02]; half pairs 1 with 3 and 2 with 4
  const examples = {
    interleaved: [-2.234742, 0.077004, 2.919405, 4.059196],
    half: [-3.144039, 1.919605, -0.339143, 4.039197],
  };
  for (const [pairing, expected] of Object.entries(examples)) {
    withRope(rw.rope({ head_dim: 4, pairing }), (rope) => {
      close(
        rope.rotate(Float32Array.of(1, 2, 3, 4), { layout: "thd", shape: [1, 1, 4], positions: 2 }),
        expected,
        1e-6,
        pairing,
      );
    });
  }
});

const layouts = [
  ["thd", [5, 3]],
  ["bthd", [2, 5, 3]],
  ["bhtd", [2, 3, 5]],
];

// Kernels rotate eight pairs at a time, and the rest one by one: spans of 1 to 9 pairs and some longer ones, at all offsets in the head.
const geometries = [
  { head_dim: 2 },
  ...[2, 6, 14, 16, 18].map((rotary_dim) => ({ head_dim: 18, rotary_dim })),
  { head_dim: 80, rotary_dim: 32 },
  { head_dim: 128 },
  { head_dim: 96, rotary_dim: 48, rotary_offset: 48 },
  { head_dim: 33, rotary_dim: 10, rotary_offset: 7 },
];

for (const pairing of ["half", "interleaved", "interleaved_to_half"]) {
  for (const geometry of geometries) {
    test(`equals the reference implementation: ${pairing}, ${JSON.stringify(geometry)}`, () => {
      withRope(rw.rope({ ...geometry, pairing }), (rope) => {
        for (const [layout, extents] of layouts) {
          for (const inverse of [false, true]) {
            const shape = [...extents, geometry.head_dim];
            const x = randomFloats(product(shape), 7);
            const { rotated, radius } = referenceRotate(x, rope.plan(), {
              layout,
              shape,
              inverse,
              position: (_, t) => 1000 + t,
            });
            close(
              rope.rotate(x, { layout, shape, positions: 1000, inverse }),
              rotated,
              rounding(radius),
              `${layout}, inverse ${inverse},`,
            );
          }
        }
      });
    });
  }
}

const config = { head_dim: 64, pairing: "half", rope_theta: 1e6 };
const yarn = { ...config, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 4096 } };

test("layouts order the same elements differently", () => {
  withRope(rw.rope(config), (rope) => {
    const [b, t, h, d] = [2, 5, 3, 64];
    const bthd = rope.rotate(randomFloats(b * t * h * d), { layout: "bthd", shape: [b, t, h, d], positions: 9 });
    const bhtd = new Float32Array(bthd.length);
    const original = randomFloats(b * t * h * d);
    for (let i = 0; i < b * t * h; i++) {
      const [head, token, batch] = [i % h, Math.floor(i / h) % t, Math.floor(i / h / t)];
      bhtd.set(original.subarray(i * d, (i + 1) * d), ((batch * h + head) * t + token) * d);
    }
    rope.rotate(bhtd, { layout: "bhtd", shape: [b, h, t, d], positions: 9 });
    for (let i = 0; i < b * t * h; i++) {
      const [head, token, batch] = [i % h, Math.floor(i / h) % t, Math.floor(i / h / t)];
      const at = ((batch * h + head) * t + token) * d;
      sameBits(bhtd.slice(at, at + d), bthd.slice(i * d, (i + 1) * d), `batch ${batch}, token ${token}, head ${head}`);
    }
    const thd = rope.rotate(original.slice(0, t * h * d), { layout: "thd", shape: [t, h, d], positions: 9 });
    sameBits(thd, bthd.slice(0, t * h * d), "thd is one batch row");
  });
});

test("grouped queries: keys with fewer heads are rotated like queries", () => {
  withRope(rw.rope(yarn), (rope) => {
    const keys = randomFloats(2 * 2 * 4 * 64, 3);
    // four query heads share a key head: queries that are copies of the keys become copies of the rotated keys
    const queries = new Float32Array(2 * 8 * 4 * 64);
    const headSize = 4 * 64;
    for (let i = 0; i < 16; i++)
      queries.set(keys.subarray(Math.floor(i / 4) * headSize, (Math.floor(i / 4) + 1) * headSize), i * headSize);
    rope.rotate(keys, { layout: "bhtd", shape: [2, 2, 4, 64], positions: 100, role: "key" });
    rope.rotate(queries, { layout: "bhtd", shape: [2, 8, 4, 64], positions: 100, role: "query" });
    for (let i = 0; i < 16; i++) {
      const own = Math.floor(i / 4) * headSize;
      sameBits(queries.slice(i * headSize, (i + 1) * headSize), keys.slice(own, own + headSize), `query head ${i}`);
    }
  });
});

test("returns x itself, or out with x unchanged", () => {
  withRope(rw.rope(yarn), (rope) => {
    const options = { layout: "thd", shape: [3, 2, 64], positions: 5 };
    const x = randomFloats(3 * 2 * 64);
    const kept = x.slice();
    const out = new Float32Array(x.length);
    assert.equal(rope.rotate(x, { ...options, out }), out);
    sameBits(x, kept, "x");
    assert.notDeepEqual(out, kept);
    assert.equal(rope.rotate(x, options), x);
    sameBits(x, out, "in place");
    const again = kept.slice();
    assert.equal(rope.rotate(again, { ...options, out: again }), again);
    sameBits(again, out, "out is x");
  });
});

test("elements outside the span are copied to out with all bits, NaN too", () => {
  withRope(rw.rope({ head_dim: 16, rotary_dim: 4, rotary_offset: 6, pairing: "half" }), (rope) => {
    const x = randomFloats(2 * 16);
    x[0] = NaN;
    x[31] = -0;
    const out = new Float32Array(32).fill(7);
    rope.rotate(x, { layout: "thd", shape: [2, 1, 16], positions: 3, out });
    for (let i = 0; i < 32; i++) {
      const isTurned = i % 16 >= 6 && i % 16 < 10;
      assert.equal(Object.is(out[i], x[i]), !isTurned, `element ${i}`);
    }
  });
});

test("inverse undoes a rotation, the attention factor and the xPos scale", () => {
  const xpos = { ...yarn, xpos: { scale_base: 512, center: 40 } };
  for (const [name, given] of Object.entries({
    config,
    yarn,
    xpos,
    interleaved: { ...yarn, pairing: "interleaved" },
    deepseek: { ...yarn, pairing: "interleaved_to_half" },
  })) {
    withRope(rw.rope(given), (rope) => {
      for (const role of ["query", "key"]) {
        const x = randomFloats(2 * 3 * 64, 5);
        const original = x.slice();
        const options = { layout: "bhtd", shape: [1, 2, 3, 64], positions: [7, 2000, 31], role };
        rope.rotate(x, options);
        assert.notDeepEqual(x, original, name);
        rope.rotate(x, { ...options, inverse: true });
        // two rotations; xPos scales cancel except for rounding, and the largest pair has length 2√2
        close(x, original, 8 * 2 ** -24 * Math.SQRT2 * 2, `${name}, ${role},`);
      }
    });
  }
});

test("position 0 rotates nothing, but the attention factor scales", () => {
  const options = { layout: "thd", shape: [1, 2, 64], positions: 0 };
  withRope(rw.rope(config), (rope) => sameBits(rope.rotate(randomFloats(128), options), randomFloats(128)));
  withRope(rw.rope(yarn), (rope) => {
    const factor = Math.fround(rope.plan().attention_factor);
    sameBits(
      rope.rotate(randomFloats(128), options),
      randomFloats(128).map((value) => Math.fround(value * factor)),
    );
  });
});

test("xPos multiplies queries by the factor that divides keys", () => {
  withRope(rw.rope({ ...config, xpos: { scale_base: 512, center: 0 } }), (rope) => {
    const { xpos, inv_freq } = rope.plan();
    const ones = () => new Float32Array(64).fill(1);
    const options = { layout: "thd", shape: [1, 1, 64], positions: 256 };
    const query = rope.rotate(ones(), { ...options, role: "query" });
    const key = rope.rotate(ones(), { ...options, role: "key" });
    inv_freq.forEach((_, j) => {
      const scale = xpos.scale[j] ** 0.5;
      const length = (x) => Math.hypot(x[j], x[j + 32]);
      assert.ok(Math.abs(length(query) / (Math.SQRT2 * scale) - 1) < 4 * 2 ** -23, `query, pair ${j}`);
      assert.ok(Math.abs((length(key) * scale) / Math.SQRT2 - 1) < 4 * 2 ** -23, `key, pair ${j}`);
    });
  });
});
