// Models whose config and tensors disagree in a way that may still add up: sizes of the config changed, and tensors that follow some of them.
import { partsOf, tinyNames, written } from "../../files/model_parts.mjs";
import { tensorBytes, tensorTypes } from "../../files/gguf_writer.mjs";
import { openDamaged, setUpModels } from "../headers.mjs";

export const name = "weights";
export const cases = 500;

let models;
let seeds;

export async function setUp() {
  models = await setUpModels();
  seeds = [];
  for (const kind of ["gguf", "safetensors"]) {
    for (const one of tinyNames(kind)) {
      const { keys, tensors } = await partsOf(one, kind);
      const kept = Object.entries(keys).filter(([key]) => !key.startsWith("tokenizer."));
      seeds.push({ kind, parts: { keys: Object.fromEntries(kept), tensors, others: [] } });
    }
  }
}

export async function tearDown() {
  await models.expectGoodModel("at the end");
}

export async function run(random, iteration) {
  const { kind, parts } = random.pick(seeds);
  const keys = { ...parts.keys };
  const sizes = Object.keys(keys).filter((key) => Number.isInteger(keys[key]) && keys[key] > 0);
  let { tensors } = parts;
  for (let changes = random.between(1, 3); changes > 0; changes--) {
    const key = random.pick(sizes);
    const size = keys[key];
    const value = random.pick([size - 1, size + 1, 2 * size, Math.ceil(size / 2), size + 32, 1, 3 * size]);
    if (random.chance(0.8)) keys[key] = value;
    const factor = random.pick([1, 1, 2, 3]);
    if (random.chance(0.7))
      tensors = tensors.map((tensor) =>
        resized(tensor, (extent) => (extent === factor * size ? factor * value : extent)),
      );
    if (random.chance(0.5)) tensors = changedTensor(tensors, kind, random);
  }
  return openDamaged(models, written({ ...parts, keys, tensors }, kind), iteration);
}

/** A tensor whose extents are changed, if its rows are still whole blocks. */
function resized(tensor, change, type = tensor.type) {
  const shape = tensor.shape.map(change);
  const isSame = type === tensor.type && shape.every((extent, i) => extent === tensor.shape[i]);
  const isLarge = shape.reduce((product, extent) => product * extent, 1) > 1 << 18;
  if (isSame || isLarge || (shape.at(-1) ?? 1) % tensorTypes[type][1] !== 0) return tensor;
  return { ...tensor, shape, type, data: new Uint8Array(tensorBytes({ type, shape })).fill(1) };
}

/** One tensor with rows of another one's length, another type, other dimensions, or the place of another one. */
function changedTensor(tensors, kind, random) {
  const at = random.int(tensors.length);
  const tensor = tensors[at];
  const extents = tensors.flatMap(({ shape }) => shape);
  const types = kind === "gguf" ? ["f32", "f16", "bf16", "q8_0", "q4_0"] : ["f32", "f16", "bf16"];
  const dimension = random.int(tensor.shape.length);
  const other = random.pick([
    () => resized(tensor, (extent, i) => (i === dimension ? random.pick(extents) : extent)),
    () => resized(tensor, (extent) => extent, random.pick(types)),
    () => ({ ...tensor, shape: tensor.shape.toReversed() }),
    () => ({ ...tensor, shape: [...tensor.shape, 1] }),
    () => ({ ...random.pick(tensors), name: tensor.name }),
  ])();
  const isWhole = (other.shape.at(-1) ?? 1) % tensorTypes[other.type][1] === 0;
  return isWhole ? tensors.with(at, other) : tensors;
}
