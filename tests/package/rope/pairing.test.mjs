// rw.convertPairing: converts weights from one pairing to the other without changing attention scores.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

test("eight rows: interleaved c s c s … becomes c c … s s …", () => {
  const rows = Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7);
  const options = { heads: 1, head_dim: 8 };
  assert.deepEqual(
    [...rw.convertPairing(rows, { ...options, from: "interleaved", to: "half" })],
    [0, 2, 4, 6, 1, 3, 5, 7],
  );
  assert.deepEqual(
    [...rw.convertPairing(rows, { ...options, from: "half", to: "interleaved" })],
    [0, 4, 1, 5, 2, 6, 3, 7],
  );
  assert.deepEqual([...rows], [0, 1, 2, 3, 4, 5, 6, 7], "the given weights are unchanged");
});

test("only rows in the rotary span of each head move, and rows stay whole", () => {
  const [heads, head_dim, columns] = [2, 10, 3];
  const weights = Float32Array.from({ length: heads * head_dim * columns }, (_, i) => i);
  const converted = rw.convertPairing(weights, {
    heads,
    head_dim,
    rotary_dim: 4,
    rotary_offset: 2,
    from: "interleaved",
    to: "half",
  });
  const rowOf = (head, row) =>
    Array.from(converted.slice((head * head_dim + row) * columns, (head * head_dim + row + 1) * columns));
  const expected = [0, 1, 2, 4, 3, 5, 6, 7, 8, 9];
  for (let head = 0; head < heads; head++) {
    expected.forEach((source, row) => {
      const first = (head * head_dim + source) * columns;
      assert.deepEqual(rowOf(head, row), [first, first + 1, first + 2], `head ${head}, row ${row}`);
    });
  }
});

test("a round trip, and a conversion to the same pairing, keep all bits", () => {
  for (const head_dim of [2, 6, 64, 128]) {
    const weights = randomFloats(3 * head_dim * 7);
    weights[1] = NaN;
    const options = { heads: 3, head_dim };
    const there = rw.convertPairing(weights, { ...options, from: "half", to: "interleaved" });
    sameBits(
      rw.convertPairing(there, { ...options, from: "interleaved", to: "half" }),
      weights,
      `head_dim ${head_dim}`,
    );
    sameBits(rw.convertPairing(weights, { ...options, from: "half", to: "half" }), weights);
  }
});

test("any element type; the result has the same array type", () => {
  const weights = randomFloats(2 * 16 * 5);
  const options = { heads: 2, head_dim: 16, from: "half", to: "interleaved" };
  const expected = rw.convertPairing(weights, options);
  for (const dtype of ["f16", "bf16"]) {
    sameBits(rw.convertPairing(to16Bits(weights, dtype).bits, options), to16Bits(expected, dtype).bits, dtype);
  }
  const doubles = rw.convertPairing(Float64Array.from(weights), options);
  assert.deepEqual(doubles, Float64Array.from(expected));
  const bytes = rw.convertPairing(
    Uint8Array.from({ length: 160 }, (_, i) => i),
    options,
  );
  assert.ok(bytes instanceof Uint8Array && bytes[1 * 5] === 8 * 5);
  sameBits(
    rw.convertPairing(weights.subarray(0, 16 * 5), { ...options, heads: 1 }),
    expected.slice(0, 16 * 5),
    "a subarray",
  );
});

/** y = W x for W [rows, columns], and the bias. */
function project(weights, bias, x) {
  return Float32Array.from(bias, (b, row) => {
    let sum = b;
    for (let i = 0; i < x.length; i++) sum += weights[row * x.length + i] * x[i];
    return sum;
  });
}

test("attention scores are equal if the weights and biases of q and k are all converted", () => {
  const [heads, head_dim, width] = [2, 32, 12];
  for (const span of [{}, { rotary_dim: 16 }, { rotary_dim: 20, rotary_offset: 6 }]) {
    const parameters = Object.fromEntries(
      ["q", "k"].map((name, i) => [
        name,
        { weights: randomFloats(heads * head_dim * width, 10 + i), bias: randomFloats(heads * head_dim, 20 + i) },
      ]),
    );
    const scores = (pairing, convert) =>
      withRope(rw.rope({ head_dim, ...span, pairing }), (rope) => {
        const rotated = ["q", "k"].map((name, i) => {
          const { weights, bias } = parameters[name];
          const y = project(convert(weights), convert(bias), randomFloats(width, 30 + i));
          return rope.rotate(y, { layout: "thd", shape: [1, heads, head_dim], positions: i === 0 ? 1234 : 1000 });
        });
        return Array.from({ length: heads }, (_, head) => {
          const of = (x) => x.slice(head * head_dim, (head + 1) * head_dim);
          return of(rotated[0]).reduce((sum, value, d) => sum + value * of(rotated[1])[d], 0);
        });
      });
    const original = scores("interleaved", (weights) => weights);
    const converted = scores("half", (weights) =>
      rw.convertPairing(weights, { heads, head_dim, ...span, from: "interleaved", to: "half" }),
    );
    const wrong = scores("half", (weights) => weights);
    original.forEach((score, head) => {
      // the same 32 products in another order, each at most about (2 · 2 · 12)² and rounded to f32, summed in f64 here
      assert.ok(
        Math.abs(converted[head] - score) <= 32 * 2304 * 2 ** -22,
        `head ${head}: ${converted[head]} instead of ${score}`,
      );
      assert.ok(
        Math.abs(wrong[head] - score) > 1,
        `without converting, head ${head} would score ${wrong[head]}, near ${score}`,
      );
    });
  }
});

test("invalid arguments", () => {
  const options = { heads: 2, head_dim: 16, from: "half", to: "interleaved" };
  const weights = randomFloats(2 * 16 * 5);
  for (const [change, code, field] of [
    [{ heads: 3 }, "INVALID_SHAPE", "weights"],
    [{ heads: 0 }, "INVALID_ARGUMENT", "heads"],
    [{ heads: 1.5 }, "INVALID_ARGUMENT", "heads"],
    [{ head_dim: -16 }, "INVALID_ARGUMENT", "head_dim"],
    [{ head_dim: NaN }, "INVALID_ARGUMENT", "head_dim"],
    [{ rotary_dim: 7 }, "INVALID_CONFIG", "rotary_dim"],
    [{ rotary_dim: 18 }, "INVALID_CONFIG", "rotary_dim"],
    [{ rotary_dim: 8, rotary_offset: 9 }, "INVALID_CONFIG", "rotary_offset"],
    [{ rotary_dim: 8.5 }, "INVALID_ARGUMENT", "rotary_dim"],
    [{ rotary_dim: "8" }, "INVALID_ARGUMENT", "rotary_dim"],
    [{ rotary_dim: 8, rotary_offset: -1 }, "INVALID_ARGUMENT", "rotary_offset"],
    [{ rotary_dim: 8, rotary_offset: NaN }, "INVALID_ARGUMENT", "rotary_offset"],
    [{ from: "interleaved_to_half" }, "INVALID_ARGUMENT", "from"],
    [{ from: undefined }, "INVALID_ARGUMENT", "from"],
    [{ to: "neox" }, "INVALID_ARGUMENT", "to"],
  ]) {
    raises(() => rw.convertPairing(weights, { ...options, ...change }), code, field);
    sameBits(weights, randomFloats(2 * 16 * 5), "weights");
  }
  raises(() => rw.convertPairing(new Float32Array(0), options), "INVALID_SHAPE", "weights");
  for (const none of [Array.from(weights), null, undefined, weights.buffer, new DataView(weights.buffer)]) {
    raises(() => rw.convertPairing(none, options), "INVALID_DTYPE", "weights");
  }
});
