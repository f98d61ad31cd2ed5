// Headers of GGUF with changed bytes, or with changed entries and tensors.
import { ggufBytes, ggufHeader, typed } from "../../files/gguf_writer.mjs";
import { partsOf } from "../../files/model_parts.mjs";
import { ggufModel } from "../../files/tiny_models.mjs";
import { changedBytes, EDGE_INTEGERS, openDamaged, setUpModels } from "../headers.mjs";

export const name = "gguf";
export const cases = 1000;

let models;
let seeds;

export async function setUp() {
  models = await setUpModels();
  const parts = await Promise.all(
    ["llama", "qwen3_moe", "gpt_neox", "phi3", "stablelm"].map((one) => partsOf(one, "gguf")),
  );
  const described = parts.map(({ keys, tensors }) => ({ metadata: withoutVocabulary(keys), tensors }));
  seeds = [...described, ggufModel()].map((model) => ({
    model,
    bytes: ggufBytes(model),
    header: ggufHeader(model).length,
  }));
}

export async function tearDown() {
  await models.expectGoodModel("at the end");
}

/** Without it a file is read ten times as fast. Tokenizers have a target of their own. */
function withoutVocabulary(keys) {
  return Object.fromEntries(Object.entries(keys).filter(([key]) => !key.startsWith("tokenizer.")));
}

export async function run(random, iteration) {
  const { model, bytes, header } = random.pick(seeds);
  const damaged = random.chance(0.5)
    ? changedBytes(bytes, header, random)
    : written(changedModel(model, random), bytes.subarray(header), random);
  return openDamaged(models, damaged, iteration);
}

/** A file with another header, sometimes cut. */
function written(model, data, random) {
  const bytes = new Uint8Array(Buffer.concat([ggufHeader(model), data]));
  return random.chance(0.05) ? bytes.subarray(0, random.int(bytes.length)) : bytes;
}

const TYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "u64", "i64", "f64"];
const integer = (random) => random.pick(EDGE_INTEGERS);

const values = [
  (random) => typed("u64", integer(random)),
  (random) => typed("u32", Number(integer(random) & 0xffffffffn)),
  (random) => typed("i64", BigInt.asIntN(64, integer(random))),
  (random) => typed("f32", random.pick([NaN, Infinity, -Infinity, -0, 1e-30, 1e30, 0.5, -1])),
  (random) => typed("f64", random.pick([NaN, Infinity, 1e308, 5e-324, 2 ** 53])),
  (random) => random.chance(0.5),
  (random) => random.pick(["", "llama", "__proto__", "constructor", "qwen3moe", "\u0000", "\u202e", "x".repeat(300)]),
  (random) => new Uint8Array(random.bytes(4)), // mostly not UTF-8
  (random) =>
    typed(
      random.pick(TYPES.slice(0, 7)),
      Array.from({ length: random.int(5) }, () => random.int(100)),
    ),
  () => [[1, 2], [3]],
  () => [[[[[1]]]]],
];

const entryChanges = [
  (entries, at, random) => void (entries[at] = [entries[at][0], random.pick(values)(random)]),
  (entries, at) => void entries.splice(at, 1),
  (entries, at) => void entries.push(entries[at]),
  (entries, at, random) =>
    void (entries[at] = [random.pick(["__proto__", "", "general.alignment", "a\u0007"]), entries[at][1]]),
  (entries, at, random) => void entries.push(["general.alignment", random.pick(values)(random)]),
  (entries, at, random) => void entries.push(["split.count", typed("u16", random.int(4))]),
  (entries, at, random) => {
    const [key, value] = entries[at];
    const change = random.pick([
      (number) => number + 1,
      (number) => number - 1,
      (number) => 2 * number,
      () => 1,
      (number) => number + 32,
    ]);
    if (Number.isInteger(value)) entries[at] = [key, change(value)];
  },
];

const tensorChanges = [
  (tensor, random) => ({ ...tensor, dimensions: Array.from({ length: random.int(6) }, () => integer(random)) }),
  (tensor, random) => {
    const dimensions = tensor.shape.toReversed().map(BigInt);
    if (dimensions.length > 0) dimensions[random.int(dimensions.length)] = integer(random);
    return { ...tensor, dimensions };
  },
  (tensor) => ({ ...tensor, dimensions: tensor.shape }),
  (tensor, random) => ({ ...tensor, typeNumber: random.pick([random.int(45), 2 ** 32 - 1]) }),
  (tensor, random) => ({ ...tensor, offset: random.pick([integer(random), BigInt(32 * random.int(5000))]) }),
  (tensor, random) => ({
    ...tensor,
    name: random.pick(["", "rope_freqs.weight", "token_embd.weight", "__proto__", "\u001b[2J"]),
  }),
  (tensor, random) => ({ ...tensor, name: random.bytes(8) }),
];

function changedModel(model, random) {
  const entries = Object.entries(model.metadata);
  let tensors = [...model.tensors];
  const counts = {};
  for (let changes = random.chance(0.6) ? 1 : random.between(2, 5); changes > 0; changes--) {
    const kind = random.int(10);
    if (kind < 4) random.pick(entryChanges)(entries, random.int(entries.length), random);
    else if (kind < 8) {
      const at = random.int(tensors.length);
      tensors = tensors.with(at, random.pick(tensorChanges)(tensors[at], random));
    } else if (kind === 8)
      tensors = random.chance(0.5)
        ? [...tensors, random.pick(tensors)]
        : tensors.toSpliced(random.int(tensors.length), 1);
    else
      Object.assign(
        counts,
        random.pick([{ tensorCount: integer(random) }, { entryCount: integer(random) }, { version: random.int(5) }]),
      );
    if (entries.length === 0 || tensors.length === 0) break;
  }
  return { metadata: entries, tensors, ...counts };
}
