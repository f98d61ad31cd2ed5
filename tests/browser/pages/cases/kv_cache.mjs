// Caches after a list of steps. native_digest/kv_cache.cpp computes the same.
//
//   append:T[:P]   new tokens in every layer and sequence (from position P), and attention of their queries
//   shift:K:D      keeps the first K tokens of the last sequence, and removes the next D
//   truncate:T     keeps the first T tokens of the last sequence
//   move:P         moves the tokens of the last sequence to P, P + 1, …
//   copy:T         copies the first T tokens of the last sequence to the first
//   retune         retunes to the rope in the keys that begin with to_
//   reopen         saves every sequence, and restores it in a new cache with the first rope
//
// After each step the last sequence is read. At the end all sequences are saved.

import {
  configOf,
  DTYPES,
  elements,
  LAYOUTS,
  Operands,
  PAIRINGS,
  positionsOf,
  retunedTo,
  SCALINGS,
  scoresOf,
  shapeOf,
  sizeOf,
} from "./inputs.mjs";

const PLAIN = {
  kind: "cache",
  layout: "bthd",
  input: "f32",
  layers: 1,
  sequences: 1,
  max_length: 96,
  heads: 4,
  kv_heads: 2,
  head_dim: 40,
};
const ROPE = { position: "rope", pairing: "half", rope_theta: 10000 };
const YARN = retunedTo({ rope_theta: 10000, ...SCALINGS[1], original_max_position_embeddings: 64 });
const OTHER_BASE = retunedTo({ rope_theta: 5e5 });
// the last step re-rotates keys that were saved with the other rope
const STEPS =
  "append:40,append:1,shift:4:16,append:5,retune,append:2,move:1000,append:1,truncate:30,append:3,reopen,append:1";

const CACHE_DTYPES = ["f32", "f16", "bf16", "q8_0"];

// every element type and key mode, with the other options in turn
const everyType = CACHE_DTYPES.flatMap((dtype) => ["rotated", "raw"].map((keys) => ({ dtype, keys }))).map(
  (types, i) => {
    const layout = LAYOUTS[i % 3];
    return {
      ...{
        ...PLAIN,
        ...ROPE,
        ...SCALINGS[i % 5],
        ...(i % 2 === 0 ? YARN : OTHER_BASE),
        ...types,
        layout,
        steps: STEPS,
      },
      ...{ pairing: PAIRINGS[(i + 1) % 3], input: DTYPES[(i + Math.floor(i / 3)) % 3] },
      ...{ layers: 1 + (i % 2), sequences: layout === "thd" ? 1 : 1 + (i % 3) },
    };
  },
);

// length-dependent plans: keys are re-rotated when the length passes 32
const GROWING = { ...ROPE, rope_type: "dynamic", factor: 4, max_position_embeddings: 32, ...YARN };
const GROWING_STEPS = "append:30,append:5,append:20,shift:2:30,truncate:10,append:1,retune,append:2,reopen,append:30";

const AXES_STEPS = "append:20:100,append:3,shift:3:5,retune,append:2,reopen,append:1";
const XPOS = { xpos_scale_base: 512, to_xpos_scale_base: 512 };
const XPOS_STEPS = STEPS.replace("move:1000", "move:30"); // at larger positions these keys would be larger than the others

const special = [
  { ...GROWING, dtype: "f16", keys: "rotated", steps: GROWING_STEPS },
  { ...GROWING, dtype: "f16", keys: "raw", steps: GROWING_STEPS },
  { ...ROPE, ...YARN, dtype: "f32", keys: "rotated", mrope_section: "4,8,8", steps: AXES_STEPS },
  { ...ROPE, ...OTHER_BASE, ...XPOS, dtype: "bf16", keys: "rotated", steps: XPOS_STEPS },
  {
    ...ROPE,
    dtype: "q8_0",
    keys: "rotated",
    sequences: 3,
    steps: "append:33,shift:0:10,copy:20,append:4,truncate:7,append:2,reopen,append:1",
  },
  {
    ...ROPE,
    dtype: "f16",
    keys: "raw",
    window: 9,
    sink_tokens: 4,
    sinks: true,
    soft_cap: 5,
    steps: "append:40,append:1,shift:4:8,append:3",
  },
  {
    position: "alibi",
    dtype: "bf16",
    keys: "rotated",
    head_dim: 33,
    steps: "append:40,shift:1:2,append:3,reopen,append:1",
  },
  {
    position: "none",
    dtype: "q8_0",
    keys: "raw",
    causal: false,
    temperature: true,
    steps: "append:40,append:3,reopen,append:1",
  },
].map((more) => ({ ...PLAIN, ...more }));

export const cases = [...everyType, ...special];

class CacheRun {
  #rw;
  #entry;
  #operands;
  #rope;
  #cache;
  /** Everything that was computed or read, in order. */
  outputs = [];

  constructor(rw, entry, inTensor) {
    this.#rw = rw;
    this.#entry = entry;
    this.#operands = new Operands(rw, inTensor);
    this.#rope = entry.position === "rope" ? rw.rope(configOf(entry)) : undefined;
    this.#cache = this.#open();
  }

  get #last() {
    return this.#entry.sequences - 1;
  }

  perform([step, ...words], number) {
    const [cache, sequence, [a, b]] = [this.#cache, this.#last, words.map(Number)];
    if (step === "append") this.#append(a, b, 1000 * number);
    if (step === "shift") cache.shift({ keep: a, discard: b, sequence });
    if (step === "truncate") cache.truncate(a, { sequence });
    if (step === "move") cache.retune({ positions: a, sequence });
    if (step === "copy") cache.copyPrefix({ from: sequence, to: 0, length: a });
    if (step === "retune") cache.retune({ rope: configOf(this.#entry, "to_") });
    if (step === "reopen") this.#reopen();
    for (let layer = 0; layer < cache.layers; layer++) {
      const { k, v } = this.#cache.read({ layer, sequence });
      this.outputs.push(k, v);
    }
    this.outputs.push(this.#cache.positions(sequence));
  }

  finish() {
    this.outputs.push(...this.#images());
    this.#cache.dispose();
    this.#rope?.dispose();
  }

  #open() {
    const { layers, sequences, kv_heads, head_dim, max_length, dtype, keys } = this.#entry;
    const geometry = { layers, sequences, kvHeads: kv_heads, headDim: head_dim, maxLength: max_length };
    return this.#rw.kvCache({ rope: this.#rope ?? null, ...geometry, dtype, keys });
  }

  #append(tokens, first, seed) {
    const { layout, input, layers, sequences, kv_heads } = this.#entry;
    const operands = this.#operands;
    const extents = { ...this.#entry, batches: sequences, tokens };
    const [shape, kvShape] = [shapeOf(extents), shapeOf({ ...extents, heads: kv_heads })];
    const position = first === undefined ? {} : { positions: positionsOf({ first, tokens, axes: this.#cache.axes }) };
    for (let layer = 0; layer < layers; layer++, seed += 10) {
      const [k, v] = [0, 1].map((i) => operands.put(elements(input, sizeOf(kvShape), seed + i), kvShape, input));
      const q = operands.put(elements(input, sizeOf(shape), seed + 2), shape, input);
      this.#cache.append({
        layer,
        k,
        v,
        q,
        layout,
        shape: kvShape,
        ...(input !== "f32" && { dtype: input }),
        ...position,
      });
      const query = input === "f32" ? q : operands.put(elements("f32", sizeOf(shape), seed + 3), shape);
      const out = this.#cache.attend(query, { layer, layout, shape, ...scoresOf(this.#entry, tokens) });
      this.outputs.push(operands.take(q), operands.take(out));
      for (const operand of query === q ? [k, v] : [k, v, query]) operands.take(operand);
    }
  }

  #reopen() {
    const images = this.#images();
    this.outputs.push(...images);
    this.#cache.dispose();
    this.#cache = this.#open();
    images.forEach((image, sequence) => this.#cache.restore(image, { sequence }));
  }

  #images() {
    return Array.from({ length: this.#entry.sequences }, (_, sequence) => this.#cache.save({ sequence }));
  }
}

function runSteps(rw, entry, inTensor) {
  const run = new CacheRun(rw, entry, inTensor);
  entry.steps.split(",").forEach((step, i) => run.perform(step.split(":"), i + 1));
  run.finish();
  return run.outputs;
}

export const compute = { cache: runSteps };
