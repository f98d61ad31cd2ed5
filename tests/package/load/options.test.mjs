// Options of ropes, tensors and load(): misspelt names, missing objects, empty tensors, and ids that could be read in two ways.
import assert from "node:assert/strict";
import test from "node:test";
import { RopewalkError } from "ropewalk";
import { close, randomFloats, randomNumbers, sameBits, toBits } from "../helpers/arrays.mjs";
import { referenceRotate, rounding } from "../helpers/reference.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 64, pairing: "half" };
const shape = [2, 3, 64];
const rope = rw.rope(config);
const x = () => randomFloats(384);
const good = { layout: "thd", shape, positions: 0 };
const move = { layout: "thd", shape, from: { positions: 0 }, to: { positions: 1 } };
const table = rope.table(4);
const byTable = { ...good, cos: table.cos, sin: table.sin, pairing: "half" };
const conversion = { heads: 2, head_dim: 64, from: "half", to: "interleaved" };

test("misspelt options are errors that name the nearest option", () => {
  for (const [act, field, nearest] of [
    [() => rope.rotate(x(), { ...good, invers: true }), "invers", "inverse"],
    [() => rope.rotate(x(), { ...good, position: 1 }), "position", "positions"],
    [() => rope.rotate(x(), { ...good, stride: [192, 64] }), "stride", "strides"],
    [() => rope.rotate(x(), { ...good, seq_len: 4 }), "seq_len", "seqLen"],
    [() => rope.rotate(x(), Object.create({ ...good, rol: "key" })), "rol", "role"],
    [() => rope.rerotate(x(), { ...move, form: {} }), "form", "from"],
    [() => rope.rerotate(x(), { ...move, from: { position: 0 } }), "from.position", "positions"],
    [() => rope.rerotate(x(), { ...move, to: { positions: 0, seqlen: 8 } }), "to.seqlen", "seqLen"],
    [() => rope.table(4, { lay_out: "half" }), "lay_out", "layout"],
    [() => rope.table(4, { out: { cos: table.cos, sine: table.sin } }), "out.sine", "sin"],
    [() => rope.decay({ count: 4, curves: "ones" }), "curves", "curve"],
    [() => rw.convertPairing(x(), { ...conversion, rotary_dims: 32 }), "rotary_dims", "rotary_dim"],
    [() => rw.rotate(x(), { ...byTable, rotarydim: 64 }), "rotarydim", "rotary_dim"],
  ]) {
    raises(act, "UNKNOWN_KEY", field);
    assert.throws(act, (error) => error.message.includes(`did you mean ${nearest}?`));
  }
});

test("calls without options, or with something else", () => {
  for (const none of [undefined, null, "thd", 5n, Symbol("s"), {}, () => 0]) {
    const given = none === undefined ? [] : [none];
    for (const act of [
      () => rope.rotate(x(), ...given),
      () => rope.rotate(...given),
      () => rope.rerotate(x(), ...given),
      () => rope.table(...given),
      () => rope.decay(...given),
      () => rope.queryTemperature(...given),
      () => rope.firstNegativeDistance(...given),
      () => rw.convertPairing(x(), ...given),
      () => rw.rotate(x(), ...given),
      () => rw.rotate(...given),
      () => rw.tensor(...given),
      () => rw.smallestBase(...given),
    ]) {
      assert.throws(act, (error) => error instanceof RopewalkError, act.toString());
    }
  }
  for (const none of [null, 5, "half", [], new Float32Array(4)])
    raises(() => rope.table(4, none), "INVALID_ARGUMENT", "options");
  for (const inverse of ["false", 1, 0, null]) {
    raises(() => rope.rotate(x(), { ...good, inverse }), "INVALID_ARGUMENT", "inverse");
    raises(() => rope.table(4, { inverse }), "INVALID_ARGUMENT", "inverse");
  }
});

test("an options object is read once: every getter runs one time", () => {
  const counts = {};
  const counted = (options) => {
    const result = {};
    for (const [name, value] of Object.entries(options))
      Object.defineProperty(result, name, {
        enumerable: true,
        get: () => ((counts[name] = (counts[name] ?? 0) + 1), value),
      });
    return result;
  };
  sameBits(
    rope.rotate(x(), counted({ ...good, seqLen: 8, role: "key", inverse: false, axes: 1 })),
    rope.rotate(x(), { ...good, seqLen: 8 }),
  );
  rope.rotate(x(), counted({ ...good, offset: 0, strides: [192, 64], dtype: "f32", out: new Float32Array(384) }));
  rope.rerotate(x(), counted({ ...move, from: counted(move.from), to: counted(move.to) }));
  for (const [name, count] of Object.entries(counts)) assert.ok(count <= 4, `${name}: ${count}`);
  const elements = [];
  const ids = new Proxy([4, 9], { get: (target, name) => (elements.push(name), Reflect.get(target, name)) });
  rope.rotate(x(), { ...good, positions: ids });
  assert.deepEqual(
    elements.filter((name) => name === "0" || name === "1"),
    ["0", "1"],
  );
});

test("empty tensors: nothing happens, as in numpy", () => {
  const three = rw.rope({ ...config, rope_scaling: { rope_type: "default", mrope_section: [8, 12, 12] } });
  for (const [layout, empty] of [
    ["thd", [0, 3, 64]],
    ["thd", [2, 0, 64]],
    ["bthd", [0, 2, 3, 64]],
    ["bthd", [2, 0, 3, 64]],
    ["bhtd", [2, 3, 0, 64]],
    ["bhtd", [2, 0, 3, 64]],
  ]) {
    const tensor = rw.tensor(empty);
    assert.deepEqual([tensor.length, tensor.data.length, tensor.shape], [0, 0, empty]);
    assert.equal(tensor.set([]), tensor);
    const array = new Float32Array(0);
    for (const given of [rope, three]) {
      for (const positions of [5, [], new Int32Array(0)]) {
        const fits = typeof positions === "number" || empty[layout.indexOf("t")] === 0 || empty[0] === 0;
        const act = () => given.rotate(array, { layout, shape: empty, positions });
        if (fits) assert.equal(act(), array);
        else raises(act, "INVALID_SHAPE", "positions");
        if (fits) assert.equal(given.rotate(tensor, { layout, positions }), tensor);
      }
      assert.equal(given.rerotate(tensor, { layout, from: { positions: 0 }, to: { positions: 2 } }), tensor);
      assert.equal(
        given.rerotate(array, { layout, shape: empty, from: { positions: 0 }, to: { positions: 2 } }),
        array,
      );
      const out = new Float32Array(0);
      assert.equal(given.rotate(tensor, { layout, positions: 0, out }), out);
      raises(() => given.rotate(tensor, { layout, positions: NaN }), "INVALID_POSITION", "positions");
      raises(() => given.rotate(new Float32Array(1), { layout, shape: empty, positions: 0 }), "INVALID_SHAPE", "shape");
    }
    assert.equal(rw.rotate(array, { ...byTable, layout, shape: empty, positions: 0 }), array);
    tensor.dispose();
    raises(() => rope.rotate(tensor, { layout, positions: 0 }), "DISPOSED", "tensor");
  }
  three.dispose();
  assert.deepEqual(rw.tensor([0, 4]).shape, [0, 4]);
  assert.equal(rope.queryTemperature([]).length, 0);
});

test("ids that could be those of several rows or of several axes need `axes`", () => {
  const [B, T, H, D] = [3, 4, 2, 64];
  const ids = Array.from({ length: 3 * T }, (_, i) => (i * 29) % 97);
  withRope(rw.rope({ ...config, rope_scaling: { rope_type: "default", mrope_section: [8, 12, 12] } }), (three) => {
    const given = randomFloats(B * T * H * D);
    const options = { layout: "bthd", shape: [B, T, H, D], positions: ids };
    raises(() => three.rotate(given.slice(), options), "INVALID_SHAPE", "positions");
    assert.throws(() => three.rotate(given.slice(), options), /3 axes or of 3 batch rows \(got 12 ids\).*axes/);
    for (const [axes, position] of [
      [1, (b, t) => ids[b * T + t]],
      [3, (_, t, axis) => ids[axis * T + t]],
    ]) {
      const expected = referenceRotate(given, three.plan(), { ...options, position });
      close(
        three.rotate(given.slice(), { ...options, axes }),
        expected.rotated,
        rounding(expected.radius),
        `axes ${axes}`,
      );
    }
    const rotated = three.rotate(given.slice(), { ...options, axes: 3 });
    const zero = { positions: new Array(T).fill(0) };
    raises(
      () => three.rerotate(given.slice(), { layout: "bthd", shape: [B, T, H, D], from: zero, to: { positions: ids } }),
      "INVALID_SHAPE",
      "to.positions",
    );
    const moved = three.rerotate(given.slice(), {
      layout: "bthd",
      shape: [B, T, H, D],
      from: zero,
      to: { positions: ids, axes: 3 },
    });
    close(moved, rotated, () => 1e-5);
    for (const axes of [0, 2, 4, "3", null, NaN])
      raises(() => three.rotate(given.slice(), { ...options, axes }), "INVALID_ARGUMENT", "axes");
    raises(
      () => three.rotate(given.slice(), { ...options, positions: ids.slice(0, T), axes: 3 }),
      "INVALID_SHAPE",
      "positions",
    );
    raises(() => rope.rotate(x(), { ...good, axes: 3 }), "INVALID_ARGUMENT", "axes");
    // two rows can't be taken for three axes
    const two = randomFloats(2 * T * H * D);
    const rows = { layout: "bthd", shape: [2, T, H, D], positions: ids.slice(0, 2 * T) };
    sameBits(three.rotate(two.slice(), rows), three.rotate(two.slice(), { ...rows, axes: 1 }));
  });
});

const next = randomNumbers(12);
const numbers = [
  ...[
    0,
    -0,
    1,
    -2,
    1 / 3,
    0.1,
    65504,
    65519.99,
    65520,
    1e6,
    -1e300,
    2 ** -14,
    2 ** -24,
    2 ** -25,
    2 ** -25 * 1.0001,
    3 * 2 ** -25,
  ],
  ...[
    5e-324,
    1 + 2 ** -11,
    1 + 3 * 2 ** -11,
    1 + 2 ** -8,
    1 + 3 * 2 ** -8,
    1 + 2 ** -8 + 2 ** -40,
    3.3895313892515355e38,
    2 ** -133,
    2 ** -134,
  ],
  ...Array.from({ length: 2000 }, () => (next() - 0.5) * 2 ** Math.floor(40 * next() - 28)),
];

test("tensor.set rounds numbers to nearest even, and takes a Uint16Array as bits", () => {
  for (const dtype of ["f16", "bf16"]) {
    const tensor = rw.tensor([numbers.length], dtype);
    const largest = dtype === "f16" ? 65520 : 2 ** 128 * (1 - 2 ** -9);
    const infinity = dtype === "f16" ? 0x7c00 : 0x7f80;
    const expected = Uint16Array.from(numbers, (value) =>
      Math.abs(value) >= largest ? infinity | (value < 0 ? 0x8000 : 0) : toBits(value, dtype),
    );
    sameBits(tensor.set(numbers).data.slice(), expected, `${dtype} of an array`);
    sameBits(tensor.set(Float64Array.from(numbers)).data.slice(), expected, `${dtype} of a Float64Array`);
    sameBits(
      tensor.set({ ...numbers, length: numbers.length }).data.slice(),
      expected,
      `${dtype} of an object with indices`,
    );
    sameBits(tensor.set(expected).data.slice(), expected, `${dtype} bits`);
    const floats = Float32Array.from(numbers);
    const ofFloats = Uint16Array.from(floats, (value) =>
      Math.abs(value) >= largest ? infinity | (value < 0 ? 0x8000 : 0) : toBits(value, dtype),
    );
    sameBits(tensor.set(floats).data.slice(), ofFloats, `${dtype} of a Float32Array`);
    tensor.dispose();
    const few = rw.tensor([4], dtype);
    assert.deepEqual(
      [...few.set([Infinity, -Infinity, 1, 2]).data],
      [infinity, infinity | 0x8000, toBits(1, dtype), toBits(2, dtype)],
    );
    assert.ok(few.set([NaN, 0, 0, 0]).data[0] > infinity);
    assert.deepEqual(
      [...few.set(Int8Array.of(1, -2, 3, 100)).data],
      [1, -2, 3, 100].map((value) => toBits(value, dtype)),
    );
    for (const wrong of [
      ["1", 2, 3, 4],
      [1n, 2, 3, 4],
      BigInt64Array.of(1n, 2n, 3n, 4n),
      Object.assign(Array(4), [1, 2]),
      { length: 4 },
    ]) {
      const before = few.data.slice();
      raises(() => few.set(wrong), "INVALID_ARGUMENT", "elements");
      sameBits(few.data.slice(), before);
    }
    few.dispose();
  }
  const f32 = rw.tensor([4]);
  assert.deepEqual([...f32.set(Uint16Array.of(1, 2, 3, 65535)).data], [1, 2, 3, 65535], "numbers for an f32 tensor");
  for (const wrong of [["1", 2, 3, 4], BigUint64Array.of(1n, 2n, 3n, 4n)])
    raises(() => f32.set(wrong), "INVALID_ARGUMENT", "elements");
  for (const wrong of [null, undefined, 5, "1234"]) raises(() => f32.set(wrong), "INVALID_ARGUMENT", "elements");
  f32.dispose();
});

test(
  "tensor.set copies the bits of a Float16Array to f16",
  { skip: typeof Float16Array === "undefined" && "this engine has no Float16Array" },
  () => {
    const tensor = rw.tensor([numbers.length], "f16");
    const halves = Float16Array.from(numbers);
    sameBits(tensor.set(halves).data.slice(), new Uint16Array(halves.buffer));
    sameBits(tensor.set(numbers).data.slice(), new Uint16Array(halves.buffer), "the engine's own conversion");
    tensor.dispose();
  },
);
