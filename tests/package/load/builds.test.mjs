// The builds compared: simd has the same bits as the scalar reference kernels, and relaxed differs by one rounding at most.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { close, product, randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { build, isExact, rw, withRope } from "../helpers/runtime.mjs";

const scalar = await load({ build: "scalar" });

test("build names the build", () => {
  assert.equal(rw.build, build);
  assert.equal(scalar.build, "scalar");
  assert.notEqual(rw, scalar);
});

test("kernels tell how the weights of each format are multiplied", () => {
  const { products } = rw.kernels;
  assert.equal(Object.keys(products).length, 28);
  assert.equal(products.f16, "floats");
  assert.equal(scalar.kernels.products.q4_0, "words");
  if (build !== "relaxed") {
    assert.equal(products.q8_0, "words");
  } else {
    for (const format of ["q4_0", "q6_k", "iq3_s"]) assert.equal(products[format], "bytes", format);
    assert.match(products.q8_0, /^(signed bytes|unsigned bytes|words)$/);
  }
});

/**
 * In x·c − y·s, relaxed kernels don't round the first product. It is at most r, the length of the pair. Inputs are below 2, so r is below 2√2,
 * and below 4 with YaRN's factor.
 */
const fused = 2 ** -24 * 4;

function compare(actual, expected, dtype, message) {
  if (isExact) return sameBits(actual, expected, message);
  if (dtype === "f32") return close(actual, expected, fused, message);
  // if the f32 result is close to a tie of the 16-bit format, the last bit may differ; signs are equal, so bits compare like numbers
  close(actual, expected, 1, message);
}

const configs = {
  half: { head_dim: 128, pairing: "half", rope_theta: 1e6 },
  interleaved: { head_dim: 128, pairing: "interleaved", rope_theta: 5e5 },
  "reads interleaved, writes half": { head_dim: 64, pairing: "interleaved_to_half" },
  "a partial span, not a multiple of 8 pairs": { head_dim: 80, rotary_dim: 46, rotary_offset: 5, pairing: "half" },
  yarn: {
    head_dim: 64,
    pairing: "half",
    rope_scaling: { rope_type: "yarn", factor: 8, original_max_position_embeddings: 4096 },
  },
  "two axes": { head_dim: 64, pairing: "half", rope_scaling: { rope_type: "default", mrope_section: [20, 12] } },
};

for (const [name, config] of Object.entries(configs)) {
  test(`rotation: ${name}`, () => {
    withRope(rw.rope(config), (rope) =>
      withRope(scalar.rope(config), (reference) => {
        const shape = [2, 3, 50, config.head_dim];
        const x = randomFloats(product(shape), 21);
        const options = { layout: "bhtd", shape, positions: 3000 };
        for (const inverse of [false, true]) {
          compare(
            rope.rotate(x.slice(), { ...options, inverse }),
            reference.rotate(x.slice(), { ...options, inverse }),
            "f32",
            `f32, inverse ${inverse}`,
          );
          for (const dtype of ["f16", "bf16"]) {
            const { bits } = to16Bits(x, dtype);
            const rotated = [rope, reference].map((r) => r.rotate(bits.slice(), { ...options, dtype, inverse }));
            compare(...rotated, dtype, `${dtype}, inverse ${inverse}`);
          }
        }
      }),
    );
  });
}

test("plans, tables and decay have the same bits in every build: only rotation differs", () => {
  for (const config of Object.values(configs)) {
    withRope(rw.rope(config), (rope) =>
      withRope(scalar.rope(config), (reference) => {
        sameBits(rope.plan().inv_freq, reference.plan().inv_freq, "inv_freq");
        for (const dtype of ["f32", "f16", "bf16"]) {
          const [a, b] = [rope, reference].map((r) => r.table(300, { dtype }));
          sameBits(a.cos, b.cos, "cos");
          sameBits(a.sin, b.sin, "sin");
        }
        sameBits(rope.decay({ count: 100, step: 17 }), reference.decay({ count: 100, step: 17 }), "decay");
      }),
    );
  }
});

test("tensors, ropes and views belong to the build that created them", () => {
  withRope(scalar.rope(configs.half), (rope) => {
    const tensor = rw.tensor([1, 1, 128]);
    assert.throws(() => rope.rotate(tensor, { layout: "thd", positions: 0 }), { code: "INVALID_ARGUMENT", field: "x" });
    withRope(rw.rope(configs.half), (other) => {
      const move = { layout: "thd", shape: [1, 1, 128], from: { positions: 0, rope: other }, to: { positions: 1 } };
      assert.throws(() => rope.rerotate(new Float32Array(128), move), { code: "INVALID_ARGUMENT", field: "from.rope" });
    });
    // views of another build's memory are copied like other arrays
    tensor.set(randomFloats(128));
    rope.rotate(tensor.data, { layout: "thd", shape: [1, 1, 128], positions: 5 });
    sameBits(tensor.data.slice(), rope.rotate(randomFloats(128), { layout: "thd", shape: [1, 1, 128], positions: 5 }));
    tensor.dispose();
  });
});
