// Options of caches: unknown names are errors, options are read once before anything else, and a cache shows nothing of wasm memory.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats } from "../helpers/arrays.mjs";
import { raises, rw } from "../helpers/runtime.mjs";

const config = { head_dim: 8, pairing: "half" };
const layout = "thd";
const shape = [4, 2, 8];
const [q, k, v] = [1, 2, 3].map((seed) => randomFloats(64, seed));
const make = (more) => rw.kvCache({ rope: config, kvHeads: 2, maxLength: 20, ...more });

function filled() {
  const cache = make();
  cache.append({ k, v, layout, shape });
  return cache;
}

const cache = filled();
const image = cache.save();
const calls = {
  // what the call needs, the call, a misspelt option and the suggestion
  "kvCache()": [
    { rope: config, kvHeads: 2, maxLength: 20 },
    (options) => rw.kvCache(options).dispose(),
    "max_length",
    "maxLength",
  ],
  "kvCacheBytes()": [
    { rope: config, kvHeads: 2, length: 20 },
    (options) => rw.kvCacheBytes(options),
    "kv_heads",
    "kvHeads",
  ],
  "append()": [{ k, v, layout, shape }, (options, own = cache) => own.append(options), "position", "positions"],
  "attend()": [{ layout, shape }, (options, own = cache) => own.attend(q, options), "casual", "causal"],
  "truncate()": [{ sequence: 0 }, (options, own = cache) => own.truncate(4, options), "sequences", "sequence"],
  "shift()": [{ discard: 1 }, (options, own = cache) => own.shift(options), "discards", "discard"],
  "retune()": [{ positions: 0 }, (options, own = cache) => own.retune(options), "ropes", "rope"],
  "copyPrefix()": [{ from: 0, to: 0 }, (options, own = cache) => own.copyPrefix(options), "lenght", "length"],
  "read()": [{ layer: 0 }, (options, own = cache) => own.read(options), "layers", "layer"],
  "save()": [{ sequence: 0 }, (options, own = cache) => own.save(options), "sequenc", "sequence"],
  "restore()": [{ sequence: 0 }, (options, own = cache) => own.restore(image, options), "sequense", "sequence"],
};

for (const [name, [good, call, misspelt, suggestion]] of Object.entries(calls)) {
  test(`${name} doesn't know ${misspelt}`, () => {
    raises(() => call({ ...good, [misspelt]: undefined }), "UNKNOWN_KEY", misspelt);
    assert.throws(() => call({ ...good, [misspelt]: 1 }), { message: new RegExp(`did you mean ${suggestion}\\?`) });
    for (const wrong of [null, 1, "a", [], q, Symbol("a"), 1n])
      raises(() => call(wrong), "INVALID_ARGUMENT", "options");
    assert.equal(cache.length, 4);
  });
}

test("canRetune and canShift report unknown options as the calls do", () => {
  assert.equal(cache.canRetune({ positions: 0, ropes: 1 }).code, "UNKNOWN_KEY");
  assert.equal(cache.canShift({ discard: 1, keeps: 1 }).field, "keeps");
  assert.equal(cache.canShift(null).code, "INVALID_ARGUMENT");
});

test("each layer's options are checked", () => {
  raises(() => make({ layers: [{}, { heads: 2 }] }), "UNKNOWN_KEY", "layers[1].heads");
  raises(() => make({ layers: [{}, { headdim: 2 }] }), "UNKNOWN_KEY", "layers[1].headdim");
  for (const wrong of [null, 5, "a", [], q])
    raises(() => make({ layers: [{}, wrong] }), "INVALID_ARGUMENT", "layers[1]");
  raises(() => make({ layers: [undefined] }), "INVALID_ARGUMENT", "layers[0]");
});

test("detached and resizable arrays", () => {
  const floats = (options) => new Float32Array(new ArrayBuffer(256, options));
  const detached = floats();
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  raises(() => cache.append({ k: detached, v, layout, shape }), "INVALID_SHAPE", "k");
  raises(() => cache.attend(detached, { layout, shape }), "INVALID_SHAPE", "q");
  const gone = image.slice();
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  raises(() => cache.restore(gone), "INVALID_ARGUMENT", "bytes");
  const shorter = floats({ maxByteLength: 512 });
  if (shorter.buffer.resizable) {
    shorter.buffer.resize(16);
    raises(() => cache.append({ k: shorter, v, layout, shape }), "INVALID_SHAPE", "shape");
  }
  assert.equal(cache.length, 4);
});

test("nothing that a caller can reach from a cache or a state is an address or the module", () => {
  const state = rw.linearState({ heads: 2, headDim: 8 });
  const seen = new Set();
  const visit = (value, path) => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
    seen.add(value);
    assert.ok(!(value instanceof WebAssembly.Memory || value instanceof WebAssembly.Instance), path);
    for (let object = value; object !== null && object !== Object.prototype; object = Object.getPrototypeOf(object)) {
      for (const name of Reflect.ownKeys(object)) {
        assert.doesNotMatch(
          String(name),
          /^(HEAP|_memalign|_free|kv_|module$|heap$|address$|core$)/,
          `${path}.${String(name)}`,
        );
        let member;
        try {
          member = Reflect.get(object, name, value);
        } catch {
          continue; // a getter that needs another object
        }
        if (typeof member !== "function") visit(member, `${path}.${String(name)}`);
      }
    }
  };
  visit(cache, "cache");
  visit(state, "state");
  assert.ok(seen.has(cache) && seen.has(state));
  state.dispose();
});
