// Nothing that a caller can reach leads to the wasm module or to an address.
import assert from "node:assert/strict";
import test from "node:test";
import * as api from "ropewalk";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 64, pairing: "half" };

/** Every value that properties and symbols of `root` lead to, own or inherited, enumerable or not, with its path. */
function* reachable(root, path) {
  const seen = new Set();
  const queue = [[root, path]];
  while (queue.length > 0) {
    const [value, at] = queue.pop();
    yield [value, at];
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
    seen.add(value);
    if (
      ArrayBuffer.isView(value) ||
      value instanceof ArrayBuffer ||
      value === Object.prototype ||
      value === Function.prototype
    )
      continue;
    for (let owner = value; owner !== null && owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
      if (owner === Function.prototype || ArrayBuffer.isView(owner)) break;
      for (const name of Reflect.ownKeys(owner)) {
        let inner;
        try {
          inner = Reflect.get(owner, name, value);
        } catch {
          continue; // a getter that needs another receiver
        }
        queue.push([inner, `${at}.${String(name)}`]);
      }
    }
  }
}

test("public objects lead to no function of the wasm module and to no address", () => {
  const rope = rw.rope(config);
  const tensor = rw.tensor([64]);
  const address = tensor.data.byteOffset;
  assert.ok(address > 1000);
  const buffer = tensor.data.buffer;
  const objects = { rw, rope, tensor, api, plan: rope.plan(), table: rope.table(3), description: rope.describe() };
  let count = 0;
  for (const [name, object] of Object.entries(objects)) {
    for (const [value, path] of reachable(object, name)) {
      count++;
      assert.notEqual(value, address, `${path} is an address`);
      const names = typeof value === "object" && value !== null && !ArrayBuffer.isView(value) ? Object.keys(value) : [];
      assert.ok(
        !names.some((key) => /^(_malloc|_free|_memalign|HEAPU8|rope_rotate|kv_create|heap|module|owned)$/.test(key)),
        `${path}: ${names.join()}`,
      );
      if (typeof value === "function")
        assert.doesNotMatch(value.name, /^(_memalign|_free|rope_\w+|kv_\w+|model_\w+)$/, path);
      if (value === buffer) assert.match(path, /^tensor\.(prototype\.)?data\.buffer$/);
    }
  }
  assert.ok(count > 200, `${count} values were looked at`);
  for (const name of ["address", "heap", "core", "module", "memory"]) {
    for (const object of [rw, rope, tensor]) assert.equal(object[name], undefined, name);
  }
  rope.dispose();
  tensor.dispose();
});

test("a caller can't change what the core takes a tensor for", () => {
  withRope(rw.rope(config), (rope) => {
    const tensor = rw.tensor([2, 3, 64]).set(randomFloats(384));
    for (const [name, value] of Object.entries({
      length: 1e9,
      dtype: "f16",
      shape: [1e6, 3, 64],
      address: 8,
      heap: {},
    }))
      Object.defineProperty(tensor, name, { value });
    const expected = rope.rotate(randomFloats(384), { layout: "thd", shape: [2, 3, 64], positions: 5 });
    rope.rotate(tensor, { layout: "thd", positions: 5 });
    sameBits(tensor.data.slice(), expected);
    for (const fake of [
      Object.create(tensor),
      Object.create(api.Tensor.prototype),
      new Proxy(tensor, {}),
      { ...tensor },
    ])
      raises(() => rope.rotate(fake, { layout: "thd", shape: [2, 3, 64], positions: 5 }), "INVALID_DTYPE", "x");
    const move = { layout: "thd", shape: [2, 3, 64], from: { positions: 0 } };
    for (const fake of [Object.create(rope), Object.create(api.Rope.prototype), new Proxy(rope, {})])
      raises(
        () => rope.rerotate(randomFloats(384), { ...move, to: { positions: 1, rope: fake } }),
        "INVALID_ARGUMENT",
        "to.rope",
      );
    for (const make of [() => new api.Tensor(), () => new api.Rope(), () => new api.Ropewalk({}, "simd", {})])
      raises(make, "INVALID_ARGUMENT", "");
    tensor.dispose();
  });
});

const shape = [2, 3, 64];

test("properties of arrays that lie", () => {
  withRope(rw.rope(config), (rope) => {
    const expected = rope.rotate(randomFloats(384), { layout: "thd", shape, positions: [4, 9] });
    const x = randomFloats(384);
    for (const [name, value] of Object.entries({
      length: 1e6,
      byteLength: 4e6,
      byteOffset: 64,
      buffer: new ArrayBuffer(8),
    }))
      Object.defineProperty(x, name, { value });
    const ids = Object.defineProperty(Float64Array.of(4, 9), "length", { value: 1e6 });
    rope.rotate(x, { layout: "thd", shape, positions: ids });
    sameBits(
      Float32Array.from({ length: 384 }, (_, i) => x[i]),
      expected,
    );
    const view = { buffer: new ArrayBuffer(1536), byteOffset: 0, byteLength: 1536, length: 384 };
    const fake = { ...view, [Symbol.toStringTag]: "Float32Array" };
    raises(() => rope.rotate(fake, { layout: "thd", shape, positions: 0 }), "INVALID_DTYPE", "x");
  });
});
