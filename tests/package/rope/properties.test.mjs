// Properties of every rotation and every scaling type, with random inputs (fast-check).
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { product, sameBits } from "../helpers/arrays.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

/** A fixed seed, so that a failure comes from the change under test. ROPEWALK_SEED sets another. */
const seed = Number(process.env.ROPEWALK_SEED ?? 1);
const check = (arbitraries, property) => fc.assert(fc.property(...arbitraries, property), { numRuns: 200, seed });
const epsilon = 2 ** -24;

const geometry = fc
  .record({
    pairs: fc.integer({ min: 1, max: 70 }),
    before: fc.integer({ min: 0, max: 9 }),
    after: fc.integer({ min: 0, max: 9 }),
  })
  .map(({ pairs, before, after }) => ({
    head_dim: before + 2 * pairs + after,
    rotary_dim: 2 * pairs,
    rotary_offset: before,
  }));
const pairing = fc.constantFrom("half", "interleaved");
const base = fc.double({ min: 2, max: 1e8, noNaN: true });
const config = fc
  .record({ geometry, pairing, rope_theta: base })
  .map(({ geometry: g, ...rest }) => ({ ...g, ...rest }));
const position = fc.oneof(
  fc.integer({ min: -(2 ** 20), max: 2 ** 20 }),
  fc.double({ min: -1e4, max: 1e4, noNaN: true }),
);
const values = (length) =>
  fc
    .array(fc.float({ min: -2, max: 2, noNaN: true }), { minLength: length, maxLength: length })
    .map((list) => Float32Array.from(list));
const withVector = (...more) => config.chain((given) => fc.tuple(fc.constant(given), values(given.head_dim), ...more));

const rotate = (rope, x, positions, options) =>
  rope.rotate(x.slice(), { layout: "thd", shape: [1, 1, x.length], positions, ...options });
const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
const norm = (x) => Math.hypot(...x);
const distance = (x, y) => Math.hypot(...x.map((value, i) => value - y[i]));

/** One rotation has an error of 4 · 2^-24 of the pair's length per element (helpers/reference.mjs), so √2 times that of the vector's length. */
const off = (rotations, x) => rotations * 4 * Math.SQRT2 * epsilon * norm(x) + 2 ** -140;

test("a rotation keeps the norm", () => {
  check([withVector(position)], ([given, x, p]) =>
    withRope(rw.rope(given), (rope) => assert.ok(Math.abs(norm(rotate(rope, x, p)) - norm(x)) <= off(1, x))),
  );
});

test("an attention factor scales the norm of the rotated elements only", () => {
  check([withVector(position, fc.double({ min: 1, max: 64, noNaN: true }))], ([given, x, p, factor]) =>
    withRope(
      rw.rope({ ...given, rope_scaling: { rope_type: "yarn", factor, original_max_position_embeddings: 2048 } }),
      (rope) => {
        const { rotary_offset: first, rotary_dim } = given;
        const rotated = rotate(rope, x, p);
        const span = (v) => v.subarray(first, first + rotary_dim);
        const scale = 1 + 0.1 * Math.log(factor);
        assert.ok(Math.abs(norm(span(rotated)) - scale * norm(span(x))) <= scale * off(1, x));
        for (let i = 0; i < x.length; i++)
          if (i < first || i >= first + rotary_dim) assert.ok(Object.is(rotated[i], x[i]));
      },
    ),
  );
});

test("scores depend only on the difference of positions", () => {
  const integer = fc.integer({ min: -(2 ** 20), max: 2 ** 20 });
  check(
    [
      config.chain((given) =>
        fc.tuple(fc.constant(given), values(given.head_dim), values(given.head_dim), integer, integer, integer),
      ),
    ],
    ([given, q, k, m, n, shift]) =>
      withRope(rw.rope(given), (rope) => {
        const score = dot(rotate(rope, q, m), rotate(rope, k, n));
        const shifted = dot(rotate(rope, q, m + shift), rotate(rope, k, n + shift));
        assert.ok(Math.abs(score - shifted) <= 4 * off(1, q) * norm(k) + 1e-30, `${score} and ${shifted}`);
        // q^T R_{n−m} k
        assert.ok(Math.abs(score - dot(q, rotate(rope, k, n - m))) <= 3 * off(1, q) * norm(k) + 1e-30);
      }),
  );
});

test("rotations add up: m, then n, equals m + n", () => {
  const integer = fc.integer({ min: -(2 ** 20), max: 2 ** 20 });
  check([withVector(integer, integer)], ([given, x, m, n]) =>
    withRope(rw.rope(given), (rope) =>
      assert.ok(distance(rotate(rope, rotate(rope, x, m), n), rotate(rope, x, m + n)) <= off(3, x)),
    ),
  );
});

test("the inverse undoes a rotation, and equals the rotation by the negative position", () => {
  check([withVector(position)], ([given, x, p]) =>
    withRope(rw.rope(given), (rope) => {
      assert.ok(distance(rotate(rope, rotate(rope, x, p), p, { inverse: true }), x) <= off(2, x));
      assert.ok(distance(rotate(rope, x, p, { inverse: true }), rotate(rope, x, -p)) <= off(2, x));
    }),
  );
});

test("re-rotated keys equal keys that are rotated at the new positions", () => {
  check([withVector(position, position)], ([given, x, from, to]) =>
    withRope(rw.rope(given), (rope) => {
      const moved = rope.rerotate(rotate(rope, x, from), {
        layout: "thd",
        shape: [1, 1, x.length],
        from: { positions: from },
        to: { positions: to },
      });
      assert.ok(distance(moved, rotate(rope, x, to)) <= off(3, x));
    }),
  );
});

test("both pairings are the same rotation of permuted elements", () => {
  check([withVector(position)], ([given, x, p]) => {
    const half = { ...given, pairing: "half" };
    const permute = (v, from, to) => rw.convertPairing(v, { heads: 1, ...geometryOf(given), from, to });
    const rotated = withRope(rw.rope(half), (rope) => rotate(rope, x, p));
    const other = withRope(rw.rope({ ...given, pairing: "interleaved" }), (rope) =>
      rotate(rope, permute(x, "half", "interleaved"), p),
    );
    // pairs are rotated in groups of eight or alone, depending on their index, with the same arithmetic in both pairings
    sameBits(permute(other, "interleaved", "half"), rotated);
    const both = withRope(rw.rope({ ...given, pairing: "interleaved_to_half" }), (rope) =>
      rotate(rope, permute(x, "half", "interleaved"), p),
    );
    sameBits(both, rotated, "interleaved_to_half");
  });
});

const geometryOf = ({ head_dim, rotary_dim, rotary_offset }) => ({ head_dim, rotary_dim, rotary_offset });

test("heads, tokens and rows of one call are rotated independently", () => {
  const extents = fc.record({
    layout: fc.constantFrom("bthd", "bhtd", "thd"),
    b: fc.integer({ min: 1, max: 3 }),
    t: fc.integer({ min: 1, max: 5 }),
    h: fc.integer({ min: 1, max: 4 }),
  });
  check([config, extents, position, fc.integer()], (given, { layout, b, t, h }, p, seed) => {
    const rows = layout === "thd" ? 1 : b;
    const shape = [...layout].map((name) => ({ b, t, h, d: given.head_dim })[name]);
    const x = Float32Array.from({ length: product(shape) }, (_, i) => Math.sin(i + (seed % 1000)));
    withRope(rw.rope(given), (rope) => {
      const together = rope.rotate(x.slice(), { layout, shape, positions: p });
      for (let i = 0; i < rows * t * h; i++) {
        const token = layout === "bhtd" ? i % t : Math.floor(i / h) % t;
        const at = i * given.head_dim;
        sameBits(together.slice(at, at + given.head_dim), rotate(rope, x.slice(at, at + given.head_dim), p + token));
      }
    });
  });
});

const factor = fc.double({ min: 1.001, max: 1000, noNaN: true });
const frequencies = (given) => withRope(rw.rope(given), (rope) => rope.plan().inv_freq);
const plainBase = fc.double({ min: 100, max: 1e8, noNaN: true });
const dims = fc.integer({ min: 2, max: 128 }).map((pairs) => 2 * pairs);
const near = (actual, expected, tolerance = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.abs(expected), `${actual} instead of ${expected}`);

test("NTK-aware scaling keeps the first pair, divides the last by the factor, and the others by less", () => {
  check([dims, plainBase, factor], (head_dim, rope_theta, s) => {
    const given = { head_dim, pairing: "half", rope_theta };
    const [plain, scaled] = [given, { ...given, rope_scaling: { rope_type: "ntk", factor: s } }].map(frequencies);
    assert.equal(scaled[0], 1);
    near(scaled.at(-1), plain.at(-1) / s);
    scaled.forEach((w, j) => near(w, (rope_theta * s ** (head_dim / (head_dim - 2))) ** ((-2 * j) / head_dim)));
    scaled.forEach((w, j) => assert.ok(w <= plain[j] * (1 + 1e-12) && w >= (plain[j] / s) * (1 - 1e-12)));
  });
});

test("dynamic NTK is unscaled up to the trained length, and NTK with a growing factor beyond", () => {
  check([dims, plainBase, factor, fc.integer({ min: 1, max: 2 ** 20 })], (head_dim, rope_theta, s, seqLen) => {
    const given = { head_dim, pairing: "half", rope_theta, max_position_embeddings: 4096 };
    const dynamic = withRope(
      rw.rope({ ...given, rope_scaling: { rope_type: "dynamic", factor: s } }),
      (rope) => rope.plan(seqLen).inv_freq,
    );
    const grown = Math.max(1, (s * seqLen) / 4096 - (s - 1));
    const expected = frequencies({
      ...given,
      ...(seqLen > 4096 && { rope_scaling: { rope_type: "ntk", factor: grown } }),
    });
    dynamic.forEach((w, j) => near(w, expected[j], 1e-11));
  });
});

test("YaRN's ramp: pairs are kept before it, divided after it, and blended in between, by the formula", () => {
  const original = fc.integer({ min: 256, max: 2 ** 17 });
  const betas = fc
    .tuple(fc.double({ min: 0.5, max: 8, noNaN: true }), fc.double({ min: 1.5, max: 16, noNaN: true }))
    .map(([slow, ratio]) => [slow * ratio, slow]);
  check(
    [dims, plainBase, factor, original, betas, fc.boolean()],
    (head_dim, rope_theta, s, L, [beta_fast, beta_slow], truncate) => {
      const given = { head_dim, pairing: "half", rope_theta };
      const rope_scaling = {
        rope_type: "yarn",
        factor: s,
        original_max_position_embeddings: L,
        beta_fast,
        beta_slow,
        truncate,
      };
      const plain = frequencies(given);
      const { inv_freq, correction_range, attention_factor } = withRope(rw.rope({ ...given, rope_scaling }), (rope) =>
        rope.plan(),
      );
      const dimension = (rotations) =>
        (head_dim * Math.log(L / (rotations * 2 * Math.PI))) / (2 * Math.log(rope_theta));
      const [first, last] = [dimension(beta_fast), dimension(beta_slow)];
      const rounded = truncate ? [Math.floor(first), Math.ceil(last)] : [first, last];
      fc.pre(!truncate || [first, last].every((edge) => Math.abs(edge - Math.round(edge)) > 1e-9)); // near an integer, rounding of the logarithms decides
      const [low, high] = [Math.max(rounded[0], 0), Math.min(rounded[1], head_dim - 1)];
      fc.pre(low <= high); // otherwise the ramp is reversed, far outside the pairs, as in transformers
      near(attention_factor, 1 + 0.1 * Math.log(s), 1e-14);
      const width = low === high ? 0.001 : high - low;
      let previous = 1;
      inv_freq.forEach((w, j) => {
        const ramp = Math.min(1, Math.max(0, (j - low) / width));
        near(w, (plain[j] / s) * ramp + plain[j] * (1 - ramp), 1e-9);
        if (j <= low) near(w, plain[j]);
        if (j >= low + width) near(w, plain[j] / s);
        const share = (w - plain[j] / s) / (plain[j] - plain[j] / s);
        assert.ok(share <= previous + 1e-9, `shares must not increase: ${share} after ${previous}`);
        previous = share;
      });
      if (correction_range !== null) correction_range.forEach((edge, i) => near(edge, [low, high][i], 1e-9));
    },
  );
});

test("linear scaling divides every frequency, and equals plain RoPE at divided positions", () => {
  check([withVector(fc.integer({ min: 0, max: 2 ** 20 }), factor)], ([given, x, p, s]) => {
    const scaled = { ...given, rope_scaling: { rope_type: "linear", factor: s } };
    const plain = frequencies(given);
    frequencies(scaled).forEach((w, j) => near(w, plain[j] / s, 1e-15));
    const [a, b] = [
      withRope(rw.rope(scaled), (rope) => rotate(rope, x, p)),
      withRope(rw.rope(given), (rope) => rotate(rope, x, p / s)),
    ];
    assert.ok(distance(a, b) <= off(2, x));
  });
});
