// Rotation by strides: a tensor that is part of a larger array, such as the queries in a fused buffer, is rotated where it lies.
import assert from "node:assert/strict";
import test from "node:test";
import { product, randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const [B, T, H, D] = [2, 5, 3, 16];
const config = { head_dim: D, rotary_dim: 10, rotary_offset: 4, pairing: "half" };

// Where head h of token t of batch row b starts, in buffers of 3 · B · T · H · D elements.
const fused = {
  "[B, T, 3, H, D], keys": { b: T * 3 * H * D, t: 3 * H * D, h: D, offset: H * D },
  "[B, T, H, 3, D], queries": { b: T * 3 * H * D, t: 3 * H * D, h: 3 * D, offset: 0 },
  "[B, T, H, 3, D], values": { b: T * 3 * H * D, t: 3 * H * D, h: 3 * D, offset: 2 * D },
  "[3, B, H, T, D], keys": { b: H * T * D, t: D, h: T * D, offset: B * H * T * D },
  "[T, B, 3, H, D], keys": { b: 3 * H * D, t: B * 3 * H * D, h: D, offset: H * D },
};
const count = 3 * B * T * H * D;

const kinds = {
  f32: { make: () => randomFloats(count, 3), options: {} },
  f16: { make: () => to16Bits(randomFloats(count, 3), "f16").bits, options: { dtype: "f16" } },
  bf16: { make: () => to16Bits(randomFloats(count, 3), "bf16").bits, options: { dtype: "bf16" } },
};

/** Calls `use(start, index)` for each head: where it starts in the buffer, and its index in a contiguous tensor of the layout. */
function forEachHead({ b, t, h, offset }, layout, use) {
  for (let batch = 0; batch < B; batch++) {
    for (let token = 0; token < T; token++) {
      for (let head = 0; head < H; head++) {
        const index = layout === "bhtd" ? (batch * H + head) * T + token : (batch * T + token) * H + head;
        use(offset + batch * b + token * t + head * h, index);
      }
    }
  }
}

for (const [name, place] of Object.entries(fused)) {
  for (const layout of ["bthd", "bhtd"]) {
    test(`${name}, as ${layout}: the same bits as a copy, and nothing else changes`, () => {
      const [shape, strides] =
        layout === "bthd"
          ? [
              [B, T, H, D],
              [place.b, place.t, place.h],
            ]
          : [
              [B, H, T, D],
              [place.b, place.h, place.t],
            ];
      withRope(rw.rope(config), (rope) => {
        for (const [dtype, { make, options }] of Object.entries(kinds)) {
          for (const positions of [7, Array.from({ length: B * T }, (_, i) => (i * 37) % 101)]) {
            const original = make();
            const contiguous = new original.constructor(product(shape));
            forEachHead(place, layout, (start, i) => contiguous.set(original.subarray(start, start + D), i * D));
            rope.rotate(contiguous, { layout, shape, positions, ...options });
            const expected = original.slice();
            forEachHead(place, layout, (start, i) => expected.set(contiguous.subarray(i * D, (i + 1) * D), start));
            assert.notDeepEqual(expected, original);

            const part = { layout, shape, strides, offset: place.offset, positions };
            const array = original.slice();
            assert.equal(rope.rotate(array, { ...part, ...options }), array);
            sameBits(array, expected, `${dtype} array`);
            const tensor = rw.tensor([count], dtype).set(original);
            rope.rotate(tensor, part);
            sameBits(tensor.data.slice(), expected, `${dtype} tensor`);
            tensor.set(original);
            rope.rotate(tensor.data, { ...part, ...options });
            sameBits(tensor.data.slice(), expected, `${dtype} view of a tensor`);

            const out = new original.constructor(product(shape));
            tensor.set(original);
            assert.equal(rope.rotate(tensor, { ...part, ...options, out }), out);
            sameBits(out, contiguous, `${dtype} tensor to a contiguous array`);
            sameBits(tensor.data.slice(), original, `${dtype} tensor, which is only read`);
            const outTensor = rw.tensor(shape, dtype);
            rope.rotate(tensor, { ...part, out: outTensor });
            sameBits(outTensor.data.slice(), contiguous, `${dtype} tensor to a tensor`);
            rope.rotate(original, { ...part, ...options, out });
            sameBits(out, contiguous, `${dtype} array to an array`);
            outTensor.dispose();
            tensor.dispose();
          }
        }
      });
    });
  }
}

test("an array of several chunks, with tokens of a fused buffer longer than a chunk", () => {
  const [tokens, heads, dim] = [3000, 8, 64]; // 6 MB of queries in 18 MB
  withRope(rw.rope({ head_dim: dim, pairing: "interleaved" }), (rope) => {
    for (const [layout, shape, order] of [
      ["thd", [tokens, heads, dim], ["t", "h"]],
      ["bhtd", [1, heads, tokens, dim], ["b", "h", "t"]],
    ]) {
      const buffer = randomFloats(tokens * 3 * heads * dim, 5);
      const original = buffer.slice();
      const tensor = rw.tensor([buffer.length]).set(buffer);
      const strides = order.map((name) => ({ b: 0, t: 3 * heads * dim, h: dim })[name]);
      const part = { layout, shape, strides, offset: 2 * heads * dim, positions: 11 };
      rope.rotate(buffer, part);
      rope.rotate(tensor, part);
      sameBits(buffer, tensor.data.slice(), layout);
      const isValue = (i) => i % (3 * heads * dim) >= 2 * heads * dim;
      assert.ok(
        buffer.every((value, i) => isValue(i) || Object.is(value, original[i])),
        "queries and keys",
      );
      assert.ok(buffer.some((value, i) => isValue(i) && value !== original[i]));
      tensor.dispose();
    }
  });
});

test("an offset alone: a contiguous tensor in a longer array", () => {
  withRope(rw.rope({ head_dim: 8, pairing: "half" }), (rope) => {
    const options = { layout: "thd", shape: [3, 2, 8], positions: 4 };
    const long = randomFloats(100);
    const expected = long.slice();
    rope.rotate(expected.subarray(21, 21 + 48), options);
    sameBits(rope.rotate(long, { ...options, offset: 21 }), expected);
  });
});

test("strides and offsets that don't fit", () => {
  withRope(rw.rope({ head_dim: 8, pairing: "half" }), (rope) => {
    const x = randomFloats(100);
    const good = { layout: "thd", shape: [3, 2, 8], positions: 4 };
    const bad = (options, field) => {
      for (const target of [x, tensor])
        raises(() => rope.rotate(target, { ...good, ...options }), "INVALID_SHAPE", field);
      sameBits(x, randomFloats(100));
      sameBits(tensor.data.slice(), randomFloats(100));
    };
    const tensor = rw.tensor([100]).set(x);
    for (const strides of [
      [],
      [16],
      [16, 8, 1],
      [16, -8],
      [16.5, 8],
      ["16", 8],
      [NaN, 8],
      null,
      "16,8",
      [16n, 8],
      [2 ** 53, 8],
    ])
      bad({ strides }, "strides");
    for (const strides of [
      [16, 7], // heads overlap
      [8, 8], // the second head of a token is the first of the next
      [0, 8], // all tokens are the same
      [16, 0],
      [43, 8], // the last element would be 101
      [2 ** 31, 8],
    ])
      bad({ strides }, "strides");
    for (const offset of [-1, 0.5, NaN, "0", null, 53, 101, 2 ** 32]) bad({ offset }, "offset");
    bad({ strides: [42, 8], offset: 1 }, "strides");
    rope.rotate(x, { ...good, strides: [42, 8] });
    raises(() => rope.rotate(x, { ...good, offset: 0, shape: undefined }), "INVALID_SHAPE", "shape");
    raises(() => rope.rotate(x, { ...good, offset: 0, out: new Float32Array(100) }), "INVALID_SHAPE", "out");
    raises(() => rope.rotate(x, { ...good, offset: 0, out: x.subarray(52) }), "INVALID_ARGUMENT", "out");
    raises(
      () => rope.rotate(x, { ...good, offset: 0, out: new Uint16Array(48), dtype: "f32" }),
      "INVALID_DTYPE",
      "dtype",
    );
    tensor.dispose();
  });
});
