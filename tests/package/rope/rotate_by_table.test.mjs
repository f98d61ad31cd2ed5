// rw.rotate: rotation by given tables of cosines and sines, against ONNX's RotaryEmbedding and transformers' apply_rotary_pos_emb.
import assert from "node:assert/strict";
import test from "node:test";
import { close, fromBits, product, randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

/**
 * ONNX RotaryEmbedding-23 as its specification words it, in f64. x is [B, S, H, D], or [B, H, S, D] with `heads first`; the caches are [R, rotary/2];
 * `rowOf(b, s)` is the position id.
 */
function onnxRotaryEmbedding(x, [B, S, H, D], headsFirst, { cos, sin, rowOf, interleaved, rotary }) {
  const result = Float64Array.from(x);
  const half = rotary / 2;
  for (let b = 0; b < B; b++) {
    for (let s = 0; s < S; s++) {
      for (let h = 0; h < H; h++) {
        const at = (headsFirst ? (b * H + h) * S + s : (b * S + s) * H + h) * D;
        for (let i = 0; i < half; i++) {
          const [c, n] = [cos[rowOf(b, s) * half + i], sin[rowOf(b, s) * half + i]];
          const [first, second] = interleaved ? [at + 2 * i, at + 2 * i + 1] : [at + i, at + half + i];
          result[first] = c * x[first] - n * x[second];
          result[second] = n * x[first] + c * x[second];
        }
      }
    }
  }
  return result;
}

/** transformers' apply_rotary_pos_emb for one tensor: q * cos + rotate_half(q) * sin, with cos and sin [B, T, D], x [B, H, T, D], in f64. */
function applyRotaryPosEmb(x, [, H, T, D], cos, sin) {
  return Float64Array.from(x, (value, i) => {
    const [d, t, b] = [i % D, Math.floor(i / D) % T, Math.floor(i / (D * T * H))];
    const rotated = d < D / 2 ? -x[i + D / 2] : x[i - D / 2];
    const row = (b * T + t) * D + d;
    return value * cos[row] + rotated * sin[row];
  });
}

const R = 40;
const tolerance = (x) => (i) => 4 * 2 ** -24 * (Math.abs(x[i]) + 4);

for (const interleaved of [false, true]) {
  for (const [D, rotary] of [
    [16, 16],
    [40, 24],
    [64, 64],
  ]) {
    test(`ONNX: interleaved ${interleaved}, head_dim ${D}, rotary_embedding_dim ${rotary}`, () => {
      const [B, S, H] = [2, 6, 3];
      const [cos, sin] = [randomFloats((R * rotary) / 2, 4), randomFloats((R * rotary) / 2, 5)]; // any values, not only of one angle
      const ids = Array.from({ length: B * S }, (_, i) => (i * 7) % R);
      const pairing = interleaved ? "interleaved" : "half";
      for (const [layout, shape] of [
        ["bthd", [B, S, H, D]],
        ["bhtd", [B, H, S, D]],
      ]) {
        for (const [positions, rowOf] of [
          [ids, (b, s) => ids[b * S + s]],
          [Int32Array.from(ids), (b, s) => ids[b * S + s]],
          [ids.slice(0, S), (_, s) => ids[s]],
          [9, (_, s) => 9 + s],
        ]) {
          const x = randomFloats(product(shape), 6);
          const expected = onnxRotaryEmbedding(x, [B, S, H, D], layout === "bhtd", {
            cos,
            sin,
            rowOf,
            interleaved,
            rotary,
          });
          const options = { layout, shape, cos, sin, positions, pairing, rotary_dim: rotary };
          close(rw.rotate(x.slice(), options), expected, tolerance(x), layout);
          const [tensor, cosTensor, sinTensor] = [
            rw.tensor(shape).set(x),
            rw.tensor([cos.length]).set(cos),
            rw.tensor([sin.length]).set(sin),
          ];
          const fromTensors = rw.rotate(tensor, {
            layout,
            cos: cosTensor,
            sin: sinTensor,
            positions,
            pairing,
            rotary_dim: rotary,
          });
          sameBits(fromTensors.data.slice(), rw.rotate(x.slice(), options), "tensors");
          for (const each of [tensor, cosTensor, sinTensor]) each.dispose();
        }
        // without position_ids the caches are [B, S, rotary/2]
        const x = randomFloats(product(shape), 6);
        const rows = (table) => table.slice(0, (B * S * rotary) / 2);
        const perToken = { cos: rows(cos), sin: rows(sin), rowOf: (b, s) => b * S + s, interleaved, rotary };
        close(
          rw.rotate(x.slice(), { layout, shape, cos: rows(cos), sin: rows(sin), pairing, rotary_dim: rotary }),
          onnxRotaryEmbedding(x, [B, S, H, D], layout === "bhtd", perToken),
          tolerance(x),
          `${layout}, a row for each token`,
        );
      }
    });
  }
}

test("transformers: cos and sin [B, T, head_dim] with both halves the same", () => {
  const [B, H, T, D] = [2, 3, 5, 32];
  const angles = randomFloats((B * T * D) / 2, 8);
  const table = (f) =>
    Float32Array.from({ length: B * T * D }, (_, i) => f(angles[Math.floor(i / D) * (D / 2) + (i % (D / 2))]));
  const [cos, sin] = [table(Math.cos), table(Math.sin)];
  const shape = [B, H, T, D];
  const x = randomFloats(product(shape), 9);
  const options = { layout: "bhtd", shape, cos, sin, tableLayout: "half", pairing: "half" };
  close(rw.rotate(x.slice(), options), applyRotaryPosEmb(x, shape, cos, sin), tolerance(x));
  for (const dtype of ["f16", "bf16"]) {
    const bits = (values) => to16Bits(values, dtype);
    const [c, s] = [bits(cos), bits(sin)];
    const rounded = rw.rotate(x.slice(), { ...options, cos: c.floats, sin: s.floats });
    sameBits(
      rw.rotate(x.slice(), { ...options, cos: c.bits, sin: s.bits, tableDtype: dtype }),
      rounded,
      `${dtype} tables`,
    );
    const given = bits(x);
    const expected = to16Bits(rw.rotate(given.floats.slice(), options), dtype).bits;
    sameBits(rw.rotate(given.bits.slice(), { ...options, dtype }), expected, `${dtype} elements`);
    assert.equal(fromBits(given.bits[0], dtype), given.floats[0]);
  }
});

test("the table of a rope gives the bits of the rope, in every layout of tables, pairing and chunk", () => {
  for (const pairing of ["half", "interleaved", "interleaved_to_half"]) {
    const scaling = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 4096 };
    withRope(rw.rope({ head_dim: 64, rotary_dim: 32, rotary_offset: 8, pairing, rope_scaling: scaling }), (rope) => {
      const shape = [5000, 2, 64];
      const expected = rope.rotate(randomFloats(product(shape), 2), { layout: "thd", shape, positions: 3 });
      for (const tableLayout of ["compact", "half", "interleaved"]) {
        const { cos, sin } = rope.table(5003, { layout: tableLayout });
        const options = {
          layout: "thd",
          shape,
          cos,
          sin,
          tableLayout,
          pairing,
          rotary_dim: 32,
          rotary_offset: 8,
          positions: 3,
        };
        sameBits(rw.rotate(randomFloats(product(shape), 2), options), expected, `${pairing}, ${tableLayout}`);
        const tensor = rw.tensor([...shape.slice(0, 1), 3, ...shape.slice(1)]);
        tensor.data.fill(0.5);
        const part = { strides: [3 * 2 * 64, 64], offset: 2 * 64 };
        rw.rotate(tensor, { ...options, ...part });
        const ones = rw.rotate(new Float32Array(product(shape)).fill(0.5), options);
        assert.deepEqual(
          tensor.data.slice(0, 3 * 128),
          Float32Array.of(...new Array(128).fill(0.5), ...ones.slice(0, 128), ...new Array(128).fill(0.5)),
        );
        tensor.dispose();
      }
    });
  }
});

test("invalid tables", () => {
  const x = randomFloats(2 * 8);
  const [cos, sin] = [new Float32Array(5 * 4).fill(1), new Float32Array(5 * 4)];
  const good = { layout: "thd", shape: [2, 1, 8], cos, sin, pairing: "half", positions: 0 };
  for (const [change, code, field] of [
    [{ cos: undefined }, "INVALID_DTYPE", "cos"],
    [{ sin: [1, 2] }, "INVALID_DTYPE", "sin"],
    [{ cos: new Float32Array(18) }, "INVALID_SHAPE", "cos"],
    [{ sin: new Float32Array(16) }, "INVALID_SHAPE", "sin"],
    [{ sin: new Uint16Array(20), tableDtype: "f16" }, "INVALID_DTYPE", "tableDtype"],
    [{ positions: undefined }, "INVALID_SHAPE", "cos"],
    [{ positions: 4 }, "INVALID_POSITION", "positions"],
    [{ positions: -1 }, "INVALID_POSITION", "positions"],
    [{ positions: 0.5 }, "INVALID_POSITION", "positions"],
    [{ positions: [0, 5] }, "INVALID_POSITION", "positions"],
    [{ positions: [0, 1, 2] }, "INVALID_SHAPE", "positions"],
    [{ positions: BigInt64Array.of(0n, 1n) }, "INVALID_POSITION", "positions"],
    [{ pairing: undefined }, "INVALID_ARGUMENT", "pairing"],
    [{ rotary_dim: 7 }, "INVALID_ARGUMENT", "rotary_dim"],
    [{ rotary_dim: 10 }, "INVALID_ARGUMENT", "rotary_dim"],
    [{ rotary_offset: 1 }, "INVALID_ARGUMENT", "rotary_offset"],
    [{ tableLayout: "wide" }, "INVALID_ARGUMENT", "tableLayout"],
    [{ interleaved: true }, "UNKNOWN_KEY", "interleaved"],
    [{ position_ids: [0, 1] }, "UNKNOWN_KEY", "position_ids"],
  ]) {
    raises(() => rw.rotate(x, { ...good, ...change }), code, field);
    sameBits(x, randomFloats(2 * 8));
  }
  raises(() => rw.rotate(x), "INVALID_ARGUMENT", "layout");
  const differing = Float32Array.from({ length: 40 }, (_, i) => i);
  raises(
    () => rw.rotate(x, { ...good, cos: differing, sin: differing, tableLayout: "half" }),
    "INVALID_ARGUMENT",
    "cos",
  );
  raises(() => rw.rotate(x, { ...good, out: cos.subarray(0, 16) }), "INVALID_ARGUMENT", "out");
  const huge = new Float32Array(2 * 16384);
  raises(() => rw.rotate(huge, { ...good, shape: [2, 1, 16384], rotary_dim: 16384 }), "INVALID_ARGUMENT", "rotary_dim");
});
