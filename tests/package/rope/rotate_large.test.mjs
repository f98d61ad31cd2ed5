// Arrays outside wasm memory are rotated in chunks of 512 KB. The result has the same bits as a Tensor, which is rotated in one call.
import assert from "node:assert/strict";
import test from "node:test";
import { product, randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const scratchElements = (1 << 19) / 4;

function expectSameInChunks(rope, x, { shape, dtype, ...options }) {
  const tensor = rw.tensor(shape, dtype ?? "f32").set(x);
  try {
    rope.rotate(tensor, options);
    const expected = tensor.data.slice();
    const array = x.slice();
    rope.rotate(array, { shape, dtype, ...options });
    sameBits(array, expected, `${options.layout} ${shape}`);
    const out = new x.constructor(x.length);
    const kept = x.slice();
    rope.rotate(x, { shape, dtype, ...options, out });
    sameBits(out, expected, `${options.layout} ${shape} to out`);
    sameBits(x, kept, "x");
  } finally {
    tensor.dispose();
  }
}

// bthd and thd are split by tokens; bhtd by heads if a head's tokens fit (7 of 300 · 128), else by tokens within a head
const shapes = [
  ["thd", [1100, 2, 128]],
  ["bthd", [3, 300, 5, 128]],
  ["bhtd", [2, 7, 300, 128]],
  ["bhtd", [2, 2, 1500, 128]],
  ["bhtd", [2, 3, 1024, 128]],
  ["bthd", [1, 3, 40, 2048]],
  ["bhtd", [1, 3, 40, 2048]],
];

for (const [layout, shape] of shapes) {
  const [batches, tokens] = layout === "thd" ? [1, shape[0]] : [shape[0], layout === "bthd" ? shape[1] : shape[2]];
  test(`${layout} ${shape.join(" × ")}: an offset, shared ids, ids of each row`, () => {
    assert.ok(product(shape) > scratchElements);
    withRope(rw.rope({ head_dim: shape.at(-1), pairing: "half", rope_theta: 5e5 }), (rope) => {
      const x = randomFloats(product(shape));
      const ids = Array.from({ length: batches * tokens }, (_, i) => (i * 7919) % 100003);
      for (const positions of [4096, Int32Array.from(ids.slice(0, tokens)), ids])
        expectSameInChunks(rope, x, { layout, shape, positions });
    });
  });
}

test("chunks that aren't a whole number of vectors: head_dim 90, partial and interleaved", () => {
  withRope(rw.rope({ head_dim: 90, rotary_dim: 42, rotary_offset: 3, pairing: "interleaved" }), (rope) => {
    for (const [layout, shape] of [
      ["thd", [900, 3, 90]],
      ["bhtd", [1, 3, 1700, 90]],
      ["bthd", [2, 500, 3, 90]],
    ]) {
      expectSameInChunks(rope, randomFloats(product(shape)), { layout, shape, positions: 12 });
    }
  });
});

test("several axes", () => {
  withRope(
    rw.rope({ head_dim: 128, pairing: "half", rope_scaling: { rope_type: "default", mrope_section: [16, 24, 24] } }),
    (rope) => {
      for (const [layout, shape, tokens, batches] of [
        ["bthd", [2, 400, 3, 128], 400, 2],
        ["bhtd", [2, 3, 400, 128], 400, 2],
      ]) {
        const x = randomFloats(product(shape));
        expectSameInChunks(rope, x, {
          layout,
          shape,
          positions: Array.from({ length: 3 * tokens }, (_, i) => (i * 31) % 997),
        });
        expectSameInChunks(rope, x, {
          layout,
          shape,
          positions: Array.from({ length: 3 * batches * tokens }, (_, i) => (i * 37) % 1009),
        });
      }
    },
  );
});

test("16-bit elements, twice as many per chunk", () => {
  withRope(rw.rope({ head_dim: 128, pairing: "interleaved_to_half" }), (rope) => {
    for (const dtype of ["f16", "bf16"]) {
      const shape = [2, 5, 700, 128];
      expectSameInChunks(rope, to16Bits(randomFloats(product(shape)), dtype).bits, {
        layout: "bhtd",
        shape,
        dtype,
        positions: 100,
      });
    }
  });
});

test("all chunks use the plan for the whole length, or for seqLen", () => {
  const dynamic = {
    head_dim: 128,
    pairing: "half",
    max_position_embeddings: 256,
    rope_scaling: { rope_type: "dynamic", factor: 4 },
  };
  withRope(rw.rope(dynamic), (rope) => {
    const shape = [1200, 2, 128];
    const x = randomFloats(product(shape));
    expectSameInChunks(rope, x, { layout: "thd", shape, positions: 0 });
    expectSameInChunks(rope, x, { layout: "thd", shape, positions: 0, seqLen: 5000 });
    // alone, the first chunk would use another plan
    const whole = rope.rotate(x.slice(), { layout: "thd", shape, positions: 0 });
    const first = rope.rotate(x.slice(0, 256 * 256), { layout: "thd", shape: [256, 2, 128], positions: 0 });
    assert.notDeepEqual(whole.slice(0, 256 * 256), first);
  });
});

test("re-rotation in chunks", () => {
  withRope(rw.rope({ head_dim: 128, pairing: "half" }), (rope) => {
    for (const [layout, shape] of [
      ["thd", [1100, 2, 128]],
      ["bhtd", [2, 2, 1500, 128]],
      ["bthd", [2, 600, 3, 128]],
    ]) {
      const x = randomFloats(product(shape));
      const tokens = layout === "thd" ? shape[0] : layout === "bthd" ? shape[1] : shape[2];
      const from = { positions: 100 };
      const to = { positions: Array.from({ length: tokens }, (_, t) => (t % 3 === 0 ? 100 + t : t)) }; // every third key keeps its position
      const tensor = rw.tensor(shape).set(x);
      rope.rerotate(tensor, { layout, from, to });
      sameBits(rope.rerotate(x, { layout, shape, from, to }), tensor.data.slice(), layout);
      tensor.dispose();
    }
  });
});

test("more positions than fit in the row cache", () => {
  // 40000 positions of 64 pairs are computed in blocks of 4096; also with separate positions for each row
  withRope(rw.rope({ head_dim: 128, pairing: "half" }), (rope) => {
    const tensor = rw.tensor([40000, 1, 128]).set(randomFloats(40000 * 128));
    const last = tensor.data.slice(-128);
    const first = tensor.data.slice(0, 128);
    rope.rotate(tensor, { layout: "thd", positions: 5 });
    const one = (x, positions) => rope.rotate(x, { layout: "thd", shape: [1, 1, 128], positions });
    sameBits(tensor.data.slice(0, 128), one(first, 5), "first");
    sameBits(tensor.data.slice(-128), one(last, 40004), "last");
    tensor.dispose();
  });
});
