// Damaged and hostile images of caches and states: each restores, or is refused with INVALID_BYTES, and a refusal changes no bit.
// ROPEWALK_MUTATIONS sets how many images of each kind are tried.
import assert from "node:assert/strict";
import test from "node:test";
import { crc32 } from "node:zlib";
import { RopewalkError } from "ropewalk";
import { randomFloats, randomNumbers, sameBits } from "../helpers/arrays.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const count = Number(process.env.ROPEWALK_MUTATIONS ?? 300);
const config = { head_dim: 8, pairing: "half" };
const kinds = {
  "rotated, xPos": { rope: { ...config, xpos: { scale_base: 64 } } },
  "rotated f16, dynamic": {
    rope: { ...config, max_position_embeddings: 8, rope_scaling: { rope_type: "dynamic", factor: 2 } },
    dtype: "f16",
    keys: "rotated",
  },
  "raw q8_0": { rope: config, dtype: "q8_0", keys: "raw" },
  bf16: { rope: config, dtype: "bf16", layers: [{}, { rope: null, headDim: 3 }] },
};

const doubles = [0, -0, 1, -1, 1e-320, 1e30, 1e300, -1e300, 2 ** 32, -(2 ** 31), 0.5, Infinity, -Infinity, NaN];
const integers = [0, 1, 2, -1, 3, 5, 32, 255, 65536, 2 ** 30, 2 ** 31 - 1, -(2 ** 31)];
const lists = [doubles, integers, doubles];
const setters = ["setFloat64", "setInt32", "setFloat32"];

/** Images with a few random changes. Most have a right checksum, so that they reach the code behind it. */
function* mutations(image, headerEnd) {
  const next = randomNumbers(11);
  const below = (limit) => Math.floor(next() * limit);
  for (let i = 0; i < count; i++) {
    let bytes = image.slice();
    for (let changes = 1 + below(3); changes > 0; changes--) {
      const kind = below(8);
      if (kind === 0) bytes = bytes.slice(0, below(bytes.length + 1));
      if (kind === 1) bytes = Uint8Array.from([...bytes, ...new Uint8Array(1 + below(40))]);
      if (kind === 2) bytes[below(bytes.length)] ^= 1 << below(8);
      if (kind <= 2) continue;
      const at = below(kind === 3 ? bytes.length : headerEnd) & ~3;
      const form = below(3);
      if (at + 8 <= bytes.length)
        new DataView(bytes.buffer)[setters[form]](at, lists[form][below(lists[form].length)], true);
    }
    if (bytes.length >= 36 && below(8) > 0) {
      const view = new DataView(bytes.buffer);
      if (below(4) === 0) view.setFloat64(24, bytes.length, true);
      view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)), true);
    }
    yield bytes;
  }
}

/** Restores each image into `target`, and afterwards its own. Returns the counts. */
function restoreAll(target, image, headerEnd, use) {
  const own = target.save();
  const counts = { restored: 0, refused: 0 };
  for (const bytes of mutations(image, headerEnd)) {
    try {
      target.restore(bytes);
      counts.restored++;
      use();
      target.restore(own);
    } catch (error) {
      if (!(error instanceof RopewalkError)) throw error;
      assert.equal(error.code, "INVALID_BYTES", error.message);
      counts.refused++;
    }
    sameBits(target.save(), own);
  }
  return counts;
}

const attempt = (act) => {
  try {
    act();
  } catch (error) {
    if (!(error instanceof RopewalkError)) throw error;
  }
};

const headerEnd = (image) => 32 + new DataView(image.buffer).getUint32(16, true);

for (const [name, kind] of Object.entries(kinds)) {
  test(`a cache: ${name}`, (t) => {
    const make = () => rw.kvCache({ kvHeads: 1, maxLength: 40, ...kind });
    const fill = (cache, tokens, seed) => {
      for (let layer = 0; layer < cache.layers; layer++) {
        const shape = [tokens, 1, layer === 0 ? 8 : 3];
        const [k, v] = [1, 2].map((more) => randomFloats(tokens * shape[2], seed + more));
        cache.append({ k, v, layout: "thd", shape, layer });
      }
    };
    withRope(make(), (source) =>
      withRope(make(), (target) => {
        fill(source, 5, 1);
        fill(target, 7, 5);
        const image = source.save();
        const use = () => {
          attempt(() => target.shift({ discard: 1 }));
          attempt(() => fill(target, 1, 9));
          attempt(() => target.attend(randomFloats(8), { layout: "thd", shape: [1, 1, 8] }));
          attempt(() =>
            target.retune({ rope: { ...config, rope_theta: 1e6, ...(kind.rope.xpos && { xpos: kind.rope.xpos }) } }),
          );
          attempt(() => target.retune({ rope: kind.rope }));
        };
        const counts = restoreAll(target, image, headerEnd(image), use);
        t.diagnostic(`${counts.restored} restored, ${counts.refused} refused`);
        assert.ok(counts.refused > count / 2 && counts.restored > 0);
      }),
    );
  });
}

test("a linear state", (t) => {
  withRope(rw.linearState({ heads: 2, headDim: 4 }), (source) =>
    withRope(rw.linearState({ heads: 2, headDim: 4 }), (target) => {
      for (const state of [source, target]) {
        const values = [1, 2, 3].map((seed) => randomFloats(24, seed + (state === source ? 0 : 7)));
        state.append(...values);
      }
      const use = () => attempt(() => target.append(...[1, 2, 3].map((seed) => randomFloats(8, seed))));
      const counts = restoreAll(target, source.save(), 56, use);
      t.diagnostic(`${counts.restored} restored, ${counts.refused} refused`);
      assert.ok(counts.refused > count / 2 && counts.restored > 0);
    }),
  );
});
