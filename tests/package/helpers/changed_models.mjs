// Tiny models with another config.json, and with the tensors that it needs.
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { tinyModel } from "./models.mjs";

/** The files of a tiny model whose text config is changed, as fields of tests/golden/random/config_fields.json are. */
export function changedFiles(name, { set = {}, remove = [], tensors }) {
  const config = JSON.parse(readFileSync(tinyModel(`${name}/config.json`), "utf8"));
  const text = { ...(config.text_config ?? config), ...set };
  for (const key of remove) delete text[key];
  const changed = config.text_config === undefined ? text : { ...config, text_config: text };
  const weights = readFileSync(tinyModel(`${name}/model.safetensors`));
  return [
    new File([JSON.stringify(changed)], "config.json"),
    new File([tensors === undefined ? weights : otherTensors(weights, tensors)], "model.safetensors"),
  ];
}

/** A safetensors file without some tensors and with new ones. */
function otherTensors(file, { new: made, without }) {
  const headerBytes = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString("utf8", 8, 8 + headerBytes));
  const tensors = new Map();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__" || without.includes(name)) continue;
    const [begin, end] = entry.data_offsets.map((offset) => 8 + headerBytes + offset);
    tensors.set(name, { dtype: entry.dtype, shape: entry.shape, bytes: file.subarray(begin, end) });
  }
  for (const [name, shape] of namesOf(made)) tensors.set(name, { dtype: "F32", shape, bytes: filled(name, shape) });
  let offset = 0;
  const entries = [...tensors].map(([name, { dtype, shape, bytes }]) => {
    const data_offsets = [offset, (offset += bytes.length)];
    return [name, { dtype, shape, data_offsets }];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...[...tensors.values()].map(({ bytes }) => bytes)]);
}

/** Every name of patterns in which each `#` is one of some numbers, with its shape. */
function namesOf(patterns) {
  return Object.entries(patterns).flatMap(([pattern, [shape, ...ranges]]) =>
    ranges
      .reduce((names, range) => names.flatMap((name) => range.map((number) => name.replace("#", number))), [pattern])
      .map((name) => [name, shape]),
  );
}

/** The same numbers as `filled` in tests/golden/generate/fields/references.py. */
function filled(name, shape) {
  const count = shape.reduce((product, extent) => product * extent, 1);
  const seed = crc32(name);
  const values = Float32Array.from(
    { length: count },
    (_, index) => (Math.imul(index + seed, 2654435761) >>> 8) / 2 ** 24 - 0.5,
  );
  return Buffer.from(values.buffer);
}
