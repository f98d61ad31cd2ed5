// Rotation of subarrays, shared memory, tensors, views of tensors, and views that were detached when memory grew.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { anotherModule, raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 64, pairing: "half" };
const options = { layout: "thd", shape: [3, 2, 64], positions: 1000 };
const count = 3 * 2 * 64;
const expected = withRope(rw.rope(config), (rope) => rope.rotate(randomFloats(count), options));

test("a subarray is rotated in place, and its neighbors don't change", () => {
  withRope(rw.rope(config), (rope) => {
    const all = new Float32Array(count + 20).fill(7);
    all.set(randomFloats(count), 13);
    rope.rotate(all.subarray(13, 13 + count), options);
    sameBits(all.slice(13, 13 + count), expected);
    assert.ok([...all.subarray(0, 13), ...all.subarray(13 + count)].every((value) => value === 7));
  });
});

test("from one part of a buffer to another part", () => {
  withRope(rw.rope(config), (rope) => {
    const all = new Float32Array(2 * count);
    all.set(randomFloats(count));
    const out = all.subarray(count);
    assert.equal(rope.rotate(all.subarray(0, count), { ...options, out }), out);
    sameBits(out.slice(), expected);
    sameBits(all.slice(0, count), randomFloats(count));
  });
});

test("arrays in shared memory", () => {
  withRope(rw.rope(config), (rope) => {
    const shared = new Float32Array(new SharedArrayBuffer(4 * count));
    shared.set(randomFloats(count));
    rope.rotate(shared, options);
    sameBits(Float32Array.from(shared), expected);
    const ids = new Int32Array(new SharedArrayBuffer(12));
    ids.set([1000, 1001, 1002]);
    sameBits(rope.rotate(randomFloats(count), { ...options, positions: ids }), expected);
  });
});

test("a tensor, in place and to another one", () => {
  withRope(rw.rope(config), (rope) => {
    const x = rw.tensor([3, 2, 64]).set(randomFloats(count));
    const out = rw.tensor([3, 2, 64]);
    assert.equal(rope.rotate(x, { layout: "thd", positions: 1000, out }), out);
    sameBits(out.data.slice(), expected);
    sameBits(x.data.slice(), randomFloats(count));
    assert.equal(rope.rotate(x, { layout: "thd", positions: 1000 }), x);
    sameBits(x.data.slice(), expected);
    x.dispose();
    out.dispose();
  });
});

test("from a tensor to an array and back", () => {
  withRope(rw.rope(config), (rope) => {
    const tensor = rw.tensor([3, 2, 64]).set(randomFloats(count));
    const array = new Float32Array(count);
    rope.rotate(tensor, { layout: "thd", positions: 1000, out: array });
    sameBits(array, expected);
    sameBits(tensor.data.slice(), randomFloats(count));
    rope.rotate(randomFloats(count), { ...options, out: tensor });
    sameBits(tensor.data.slice(), expected);
    tensor.dispose();
  });
});

test("views of a tensor are rotated in place, whole and in part", () => {
  withRope(rw.rope(config), (rope) => {
    const tensor = rw.tensor([3, 2, 64]).set(randomFloats(count));
    rope.rotate(tensor.data, options);
    sameBits(tensor.data.slice(), expected);
    tensor.set(randomFloats(count));
    rope.rotate(tensor.data.subarray(2 * 64, 4 * 64), { ...options, shape: [1, 2, 64], positions: 1001 });
    sameBits(tensor.data.slice(2 * 64, 4 * 64), expected.slice(2 * 64, 4 * 64));
    sameBits(tensor.data.slice(0, 2 * 64), randomFloats(count).slice(0, 2 * 64));
    sameBits(tensor.data.slice(4 * 64), randomFloats(count).slice(4 * 64));
    tensor.dispose();
  });
});

test("a view of a tensor isn't copied through the scratch block, which is too small for this token", () => {
  withRope(rw.rope(config), (rope) => {
    const tensor = rw.tensor([2, 2100, 64]).set(randomFloats(2 * 2100 * 64));
    rope.rotate(tensor.data.subarray(2100 * 64), { layout: "thd", shape: [1, 2100, 64], positions: 1001 });
    const one = rope.rotate(randomFloats(2 * 2100 * 64).slice(-64), {
      layout: "thd",
      shape: [1, 1, 64],
      positions: 1001,
    });
    sameBits(tensor.data.slice(-64), one);
    tensor.dispose();
  });
});

test("a new tensor is zero, and its data has the array type of its dtype", () => {
  const f32 = rw.tensor([2, 3]);
  const bf16 = rw.tensor([2, 3], "bf16");
  assert.deepEqual(f32.data, new Float32Array(6));
  assert.deepEqual(bf16.data, new Uint16Array(6));
  assert.deepEqual([f32.shape, f32.dtype, f32.length], [[2, 3], "f32", 6]);
  assert.ok(Object.isFrozen(f32.shape));
  f32.set([1, 2, 3, 4, 5, 6]).dispose();
  const again = rw.tensor([2, 3]); // likely the same memory
  assert.deepEqual(again.data, new Float32Array(6));
  again.dispose();
  bf16.dispose();
});

/** Uses a rope while memory grows. `check(rope, old)` gets a view of a tensor from before that. */
function growMemory(rw, check) {
  withRope(rw.rope(config), (rope) => {
    const tensor = rw.tensor([3, 2, 64]).set(randomFloats(count));
    const { inv_freq } = rope.plan();
    const old = tensor.data;
    const before = rw.memoryBytes;
    const large = rw.tensor([before / 4]); // as large as wasm memory, so memory must grow
    assert.ok(rw.memoryBytes > before);
    check(rope, old);
    sameBits(tensor.data.slice(), randomFloats(count), "after growth");
    rope.rotate(tensor, { layout: "thd", positions: 1000 });
    sameBits(tensor.data.slice(), expected);
    sameBits(rope.rotate(randomFloats(count), options), expected, "through the scratch block");
    sameBits(rope.plan().inv_freq, inv_freq, "inv_freq");
    assert.equal(inv_freq.length, 32, "a plan is a copy");
    large.dispose();
    tensor.dispose();
  });
}

test("when memory that isn't shared grows, tensors and ropes keep their contents, and an older view is rejected", async () => {
  growMemory(await anotherModule({ threads: 1 }), (rope, old) => {
    assert.equal(old.length, 0, "the older view is detached");
    raises(() => rope.rotate(old, options), "INVALID_SHAPE", "x");
    raises(() => rope.rotate(randomFloats(count), { ...options, out: old }), "INVALID_SHAPE", "out");
  });
});

test("when shared memory grows, an older view is still a view of it", async () => {
  const shared = await anotherModule({ threads: 2 });
  growMemory(shared, (rope, old) => {
    const tensor = shared.tensor([3, 2, 64]);
    sameBits(rope.rotate(old, { ...options, out: tensor }) === tensor && tensor.data.slice(), expected);
    assert.equal(rope.rotate(old, options), old);
    sameBits(old.slice(), expected, "in place");
    raises(
      () => rope.rotate(old.subarray(64, 320), { ...options, shape: [2, 2, 64], out: old.subarray(0, 256) }),
      "INVALID_ARGUMENT",
      "out",
    );
    old.set(randomFloats(count));
    tensor.dispose();
  });
  await shared.useThreads(1);
});

test("memory grows for the block of position ids", () => {
  withRope(rw.rope(config), (rope) => {
    const tokens = Math.ceil(rw.memoryBytes / 8); // the ids alone are as large as wasm memory
    const x = new Float32Array(tokens * 2);
    withRope(rw.rope({ head_dim: 2, pairing: "half" }), (small) => {
      const ids = new Float64Array(tokens).fill(3);
      small.rotate(x.fill(1), { layout: "thd", shape: [tokens, 1, 2], positions: ids });
      const [a, b] = small.rotate(Float32Array.of(1, 1), { layout: "thd", shape: [1, 1, 2], positions: 3 });
      assert.deepEqual([x[0], x[1], x.at(-2), x.at(-1)], [a, b, a, b]);
    });
    sameBits(rope.rotate(randomFloats(count), options), expected);
  });
});
