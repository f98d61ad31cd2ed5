// Damaged images of caches and linear states: one is refused and nothing changes, or what it restores works as any other.
import assert from "node:assert/strict";
import { load } from "ropewalk";
import { damaged } from "../damage.mjs";
import { checkLogits, freshLogits } from "../tiny_model.mjs";
import { attempt } from "../values.mjs";

export const name = "images";

let rw, logits;

export async function setUp() {
  rw = await load({ build: "simd" });
  logits = await freshLogits(rw);
}

export const tearDown = () => checkLogits(rw, logits);

const head_dim = 8;
const base = { head_dim, pairing: "half" };
const ropes = [
  base,
  { ...base, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 16 } },
  { ...base, max_position_embeddings: 8, rope_scaling: { rope_type: "dynamic", factor: 2 } },
  { ...base, xpos: { scale_base: 64, center: 4 } },
  { ...base, mrope_section: [2, 1, 1] },
];

export function run(random) {
  return random.chance(0.8) ? runCache(random) : runState(random);
}

function runCache(random) {
  const options = {
    layers: [{}, { rope: null, headDim: 5 }].slice(0, random.between(1, 2)),
    rope: random.pick(ropes),
    kvHeads: random.between(1, 2),
    maxLength: 50,
    dtype: random.pick(["f32", "f16", "bf16", "q8_0"]),
    keys: random.pick(["rotated", "raw"]),
  };
  const [source, target] = [
    rw.kvCache(options),
    rw.kvCache(random.chance(0.8) ? options : { ...options, rope: random.pick(ropes) }),
  ];
  try {
    fill(source, options, random, random.between(0, 40));
    fill(target, options, random, random.between(0, 10));
    const before = target.save();
    const outcome = restoreDamaged(source, target, random);
    if (outcome !== "restored") assert.deepEqual(target.save(), before, "a refused image changes nothing");
    attempt(() => fill(target, options, random, 2));
    attempt(() => target.shift({ keep: random.int(3), discard: random.between(1, 4) }));
    attempt(() => target.retune({ rope: random.pick(ropes) }));
    attempt(() => target.truncate(random.int(10)));
    target.restore(target.save());
    return outcome;
  } finally {
    source.dispose();
    target.dispose();
  }
}

/** Appends tokens to each layer and attends to them. */
function fill(cache, { layers, kvHeads }, random, tokens) {
  layers.forEach(({ headDim = head_dim }, layer) => {
    if (tokens === 0) return;
    const shape = [tokens, kvHeads, headDim];
    const given = { layout: "thd", shape, layer };
    const [k, v] = [random.floats(tokens * kvHeads * headDim), random.floats(tokens * kvHeads * headDim)];
    cache.append({ k, v, ...given });
    cache.attend(random.floats(2 * tokens * kvHeads * headDim), { ...given, shape: [tokens, 2 * kvHeads, headDim] });
    cache.read({ layer });
  });
}

function runState(random) {
  const options = { heads: 2, kvHeads: random.between(1, 2), headDim: random.between(1, 9) };
  const [source, target] = [rw.linearState(options), rw.linearState(options)];
  const size = (heads, tokens) => random.floats(heads * tokens * options.headDim);
  const append = (state, tokens) =>
    state.append(size(2, tokens), size(options.kvHeads, tokens), size(options.kvHeads, tokens));
  try {
    append(source, random.between(1, 4));
    append(target, 1);
    const before = target.save();
    const outcome = restoreDamaged(source, target, random);
    if (outcome !== "restored") assert.deepEqual(target.save(), before, "a refused image changes nothing");
    attempt(() => append(target, 2));
    return outcome;
  } finally {
    source.dispose();
    target.dispose();
  }
}

function restoreDamaged(source, target, random) {
  const restored = attempt(() => target.restore(damaged(source.save(), random)));
  return Array.isArray(restored) ? "restored" : restored;
}
