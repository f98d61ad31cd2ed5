// Headers of safetensors and config.json files with changed bytes, changed JSON, or changed values.
import { partsOf, written } from "../../files/model_parts.mjs";
import { fileOf } from "../../files/reading.mjs";
import { withHeader } from "../../files/safetensors_writer.mjs";
import { changedBytes, EDGE_INTEGERS, openDamaged, setUpModels } from "../headers.mjs";

export const name = "safetensors";
export const cases = 1000;

let models;
let seeds;

export async function setUp() {
  models = await setUpModels();
  const names = ["llama", "qwen3_moe", "gpt_neox", "phi3", "gemma3"];
  seeds = await Promise.all(
    names.map(async (one) => {
      const parts = { ...(await partsOf(one, "safetensors")), others: [] };
      const bytes = new Uint8Array(await written(parts, "safetensors")[0].arrayBuffer());
      const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
      const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
      return { bytes, header, end: 8 + length, data: bytes.subarray(8 + length), config: parts.keys };
    }),
  );
}

export async function tearDown() {
  await models.expectGoodModel("at the end");
}

export async function run(random, iteration) {
  const seed = random.pick(seeds);
  const isConfig = random.chance(0.3);
  const weights = isConfig
    ? seed.bytes
    : random.pick([
        () => changedBytes(seed.bytes, seed.end, random),
        () => withHeader(changedJson(JSON.stringify(seed.header), random), [seed.data]),
        () => withHeader(changedHeader(structuredClone(seed.header), seed.data.length, random), [seed.data]),
      ])();
  const config = !isConfig
    ? JSON.stringify(seed.config)
    : random.chance(0.3)
      ? changedJson(JSON.stringify(seed.config), random)
      : JSON.stringify(changedConfig({ ...seed.config }, random));
  const files = [fileOf("model.safetensors", weights), fileOf("config.json", new TextEncoder().encode(config))];
  return openDamaged(models, files, iteration);
}

const PIECES = [
  ...[
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "1e999",
    "0.5",
    "9007199254740993",
    "1e308",
    "\\ud800",
    "\\u0000",
  ],
  ...[
    '"__proto__":',
    '"dtype":',
    '"shape":[',
    '"data_offsets":[0,0]',
    '"a":{}',
    "[[[[[[[[",
    "{".repeat(100),
    "NaN",
    "\u202e",
  ],
];

/** JSON with pieces of JSON put in, repeated or left out. */
function changedJson(text, random) {
  let changed = text;
  for (let changes = random.between(1, 3); changes > 0; changes--) {
    const at = random.int(changed.length + 1);
    const end = Math.min(changed.length, at + random.int(20));
    const piece = random.pick([() => random.pick(PIECES), () => changed.slice(at, end).repeat(2), () => ""])();
    changed = changed.slice(0, at) + piece + changed.slice(random.chance(0.5) ? at : end);
  }
  return changed;
}

const number = (random) => random.pick([Number(random.pick(EDGE_INTEGERS)), -1, 0.5, 1e308, random.int(300)]);

const VALUES = [
  number,
  (random) => number(random),
  (random) => Array.from({ length: random.int(10) }, () => number(random)),
  (random) => random.pick([null, true, false, {}, [], [[[]]], [null], ""]),
  (random) =>
    random.pick(["F64", "I64", "U8", "F32", "BF16", "F16", "constructor", "__proto__", "x".repeat(1000), "\u001b[2J"]),
];

/** A header with one entry, or a few, changed in a way that a writer could have written. */
function changedHeader(header, dataLength, random) {
  for (let changes = random.chance(0.6) ? 1 : random.between(2, 4); changes > 0; changes--) {
    const names = Object.keys(header);
    const [name, other] = [random.pick(names), random.pick(names)];
    const entry = header[name];
    random.pick([
      () => void (header[name] = random.pick(VALUES)(random)),
      () => void delete header[name],
      () => void (entry[random.pick(["dtype", "shape", "data_offsets"])] = random.pick(VALUES)(random)),
      () => void delete entry[random.pick(["dtype", "shape", "data_offsets"])],
      () => void (entry.shape[random.int(entry.shape.length)] = number(random)),
      () => void (entry.data_offsets[random.int(2)] = random.chance(0.5) ? number(random) : random.int(dataLength)),
      () => void ([header[name], header[other]] = [header[other], header[name]]),
      () => void (header[random.pick(["__metadata__", "__proto__", "", "a\u0007", "x".repeat(500)])] = entry),
      () => void (header[name] = { ...entry, shape: entry.shape.toReversed() }),
      () => void (header[name] = { ...entry, shape: [entry.shape.reduce((product, extent) => product * extent, 1)] }),
    ])();
    if (Object.values(header).some((one) => !Array.isArray(one?.shape) || !Array.isArray(one?.data_offsets))) break;
    if (Object.keys(header).length === 0) break;
  }
  return header;
}

function changedConfig(config, random) {
  for (let changes = random.chance(0.6) ? 1 : random.between(2, 4); changes > 0; changes--) {
    const key = random.pick(Object.keys(config));
    const value = config[key];
    random.pick([
      () => void (config[key] = random.pick(VALUES)(random)),
      () => void delete config[key],
      () =>
        void (config[
          random.pick(["rope_scaling", "layer_types", "text_config", "num_key_value_heads", "head_dim", "__proto__"])
        ] = random.pick(VALUES)(random)),
      () => {
        if (Number.isInteger(value))
          config[key] = random.pick([value + 1, value - 1, 2 * value, value / 2, value + 32]);
      },
    ])();
    if (Object.keys(config).length === 0) break;
  }
  return config;
}
