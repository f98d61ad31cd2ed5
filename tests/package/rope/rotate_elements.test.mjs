// Element types: f32, f16 and bf16, in arrays and tensors. 16-bit kernels compute in f32 and round once.
import assert from "node:assert/strict";
import test from "node:test";
import { fromBits, randomFloats, sameBits, to16Bits, toBits } from "../helpers/arrays.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

test("the 16-bit floats of the helpers have known values", () => {
  for (const [dtype, value, bits] of [
    ["f16", 1, 0x3c00],
    ["f16", -2, 0xc000],
    ["f16", 65504, 0x7bff],
    ["f16", 2 ** -14, 0x0400],
    ["f16", 2 ** -24, 0x0001],
    ["f16", 1 / 3, 0x3555],
    ["f16", 0, 0],
    ["f16", 1 + 2 ** -11, 0x3c00],
    ["f16", 1 + 3 * 2 ** -11, 0x3c02], // ties to even
    ["bf16", 1, 0x3f80],
    ["bf16", -2, 0xc000],
    ["bf16", 1 / 3, 0x3eab],
    ["bf16", 1 + 2 ** -8, 0x3f80],
    ["bf16", 1 + 3 * 2 ** -8, 0x3f82],
  ]) {
    assert.equal(toBits(value, dtype), bits, `${dtype} ${value}`);
    if (toBits(fromBits(bits, dtype), dtype) !== bits) assert.fail(`${dtype} ${bits} doesn't survive a round trip`);
  }
});

const yarn = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 4096 };

// 5, 20 and 32 pairs: the scalar tail only, both, and the vector kernel only
for (const head_dim of [10, 40, 64]) {
  for (const pairing of ["half", "interleaved", "interleaved_to_half"]) {
    test(`f16 and bf16 are the f32 rotation rounded once: ${pairing}, head_dim ${head_dim}`, () => {
      withRope(rw.rope({ head_dim, pairing, rope_scaling: yarn }), (rope) => {
        for (const dtype of ["f16", "bf16"]) {
          for (const inverse of [false, true]) {
            const options = { layout: "thd", shape: [6, 3, head_dim], positions: 100, inverse };
            const { bits, floats } = to16Bits(randomFloats(6 * 3 * head_dim, 9), dtype);
            const expected = to16Bits(rope.rotate(floats, options), dtype).bits;
            sameBits(rope.rotate(bits.slice(), { ...options, dtype }), expected, `${dtype}, inverse ${inverse}`);
            const tensor = rw.tensor(options.shape, dtype).set(bits);
            sameBits(
              rope.rotate(tensor, { layout: "thd", positions: 100, inverse }).data.slice(),
              expected,
              `${dtype} tensor`,
            );
            tensor.dispose();
          }
        }
      });
    });
  }
}

test("16-bit values at the limits of their range: subnormal, largest, zero", () => {
  withRope(rw.rope({ head_dim: 16, pairing: "half" }), (rope) => {
    for (const [dtype, values] of [
      ["f16", [2 ** -24, 2 ** -15, -(2 ** -24) * 5, 65504, -65504, 0, -0, 1]],
      ["bf16", [2 ** -133, 2 ** -127, -(2 ** -130), 3.3e38, -3.3e38, 0, -0, 1]],
    ]) {
      // y is 0 in each pair, so that nothing overflows
      const { bits, floats } = to16Bits([...values, ...new Array(8).fill(0)], dtype);
      const options = { layout: "thd", shape: [1, 1, 16], positions: 1 };
      const expected = to16Bits(rope.rotate(floats, options), dtype).bits;
      sameBits(rope.rotate(bits, { ...options, dtype }), expected, dtype);
    }
  });
});

test(
  "a Float16Array implies its dtype",
  {
    skip:
      typeof Float16Array === "undefined" && "this engine has no Float16Array; an object with its tag is tested below",
  },
  () => {
    withRope(rw.rope({ head_dim: 8, pairing: "half" }), (rope) => {
      const { bits } = to16Bits(randomFloats(8), "f16");
      const options = { layout: "thd", shape: [1, 1, 8], positions: 3 };
      const array = new Float16Array(bits.slice().buffer);
      assert.equal(rope.rotate(array, options), array);
      sameBits(new Uint16Array(array.buffer), rope.rotate(bits, { ...options, dtype: "f16" }));
    });
  },
);

test("an object with the tag Float16Array is treated as one", () => {
  withRope(rw.rope({ head_dim: 8, pairing: "half" }), (rope) => {
    const { bits } = to16Bits(randomFloats(8), "f16");
    const { buffer, byteOffset, byteLength, length } = bits.slice();
    const array = { [Symbol.toStringTag]: "Float16Array", buffer, byteOffset, byteLength, length };
    const options = { layout: "thd", shape: [1, 1, 8], positions: 3 };
    assert.equal(rope.rotate(array, options), array);
    sameBits(new Uint16Array(buffer), rope.rotate(bits, { ...options, dtype: "f16" }));
  });
});

test("dtype may be given even if the array implies it", () => {
  withRope(rw.rope({ head_dim: 8, pairing: "half" }), (rope) => {
    const options = { layout: "thd", shape: [1, 1, 8], positions: 3 };
    sameBits(rope.rotate(randomFloats(8), { ...options, dtype: "f32" }), rope.rotate(randomFloats(8), options));
    const tensor = rw.tensor([1, 1, 8], "bf16");
    assert.equal(rope.rotate(tensor, { ...options, dtype: "bf16" }), tensor);
    tensor.dispose();
  });
});
