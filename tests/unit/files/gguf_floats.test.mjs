// 8-bit floats in GGUF files: all values, scales of matrices and of experts, models, and what is refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "ropewalk";
import { ggufBytes } from "../../files/gguf_writer.mjs";
import { partsOf, written } from "../../files/model_parts.mjs";
import { fetchOnly, fileOf, openModel, readWhole } from "../../files/reading.mjs";
import { largestDifference } from "../../package/helpers/models.mjs";

/** torch's float8_e4m3fn by code; null for NaN. */
const VALUES = JSON.parse(readFileSync(new URL("../../golden/formats/float8.json", import.meta.url)));
const FINITE = VALUES.flatMap((value, code) => (value === null ? [] : [{ value, code }]));
const rw = await load();

const metadata = { "general.architecture": "llama" };
const bytesOf = (array) => new Uint8Array(array.buffer);
const floats = (name, values) => ({
  name,
  type: "f32",
  shape: [values.length],
  data: bytesOf(Float32Array.from(values)),
});
const codesOf = (name, shape, codes) => ({ name, type: "f8_e4m3", shape, data: Uint8Array.from(codes) });
const opened = (tensors) => openModel(fetchOnly, fileOf("m.gguf", ggufBytes({ metadata, tensors })));

/** What a file of some tensors is read as: numbers by name. */
async function read(tensors) {
  const model = await opened(tensors);
  const data = await readWhole(model);
  const numbers = [...model.tensors.values()].map(({ name, format, bytes }) => {
    assert.equal(data.get(name).length, bytes);
    if (format !== "bf16") return [name, format];
    const halves = new Uint16Array(data.get(name).slice().buffer);
    return [name, [...new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer)]];
  });
  return Object.fromEntries(numbers);
}

test("all codes have torch's values", async () => {
  const codes = Array.from({ length: 256 }, (_, code) => code);
  const { "a.weight": values } = await read([codesOf("a.weight", [8, 32], codes), floats("b.weight", [1])]);
  values.forEach((value, code) => {
    if (VALUES[code] === null) assert.ok(Number.isNaN(value), `code ${code}`);
    else assert.ok(Object.is(value, VALUES[code]), `code ${code}: ${value}`);
  });
});

test("a scale for a matrix, or for each expert, multiplies its values; those of inputs are ignored", async () => {
  const codes = Array.from({ length: 24 }, (_, i) => (37 * i + 5) % 127);
  const found = await read([
    codesOf("a.weight", [4, 6], codes),
    floats("a.scale", [0.25]),
    floats("a.input_scale", [3]),
    codesOf("exps.weight", [2, 3, 4], codes),
    floats("exps.scale", [0.5, 8]),
    floats("other.scale", [7]),
  ]);
  assert.deepEqual(Object.keys(found).sort(), ["a.weight", "exps.weight", "other.scale"]);
  assert.deepEqual(
    found["a.weight"],
    codes.map((code) => VALUES[code] / 4),
  );
  assert.deepEqual(
    found["exps.weight"],
    codes.map((code, i) => VALUES[code] * (i < 12 ? 0.5 : 8)),
  );
});

test("a product with a scale is rounded once to bf16", async () => {
  const scale = Math.fround(0.0137);
  const { "a.weight": values } = await read([
    codesOf("a.weight", [1, 126], FINITE.slice(0, 126).map(({ code }) => code)), // prettier-ignore
    floats("a.scale", [scale]),
  ]);
  values.forEach((value, i) => {
    const exact = FINITE[i].value * scale;
    assert.ok(Math.abs(value - exact) <= 2 ** -8 * Math.abs(exact), `${value} for ${exact}`);
  });
});

test("scales of another shape, or that aren't floats, and codes beyond the file are refused", async () => {
  const refuses = (others, code, field) =>
    assert.rejects(opened([codesOf("a.weight", [4, 6], Array(24).fill(1)), ...others]), { code, field });
  await refuses([floats("a.scale", [1, 2])], "UNSUPPORTED_MODEL", "m.gguf: a.scale");
  const ints = { name: "a.scale", type: "q8_0", shape: [32], data: new Uint8Array(34) };
  await refuses([ints], "UNSUPPORTED_MODEL", "m.gguf: a.scale");
  const twice = [codesOf("a.weight", [4, 6], Array(24).fill(1)), floats("a.weight", [1])];
  await assert.rejects(opened(twice), { code: "INVALID_FILE", field: "m.gguf: a.weight" });
  const whole = ggufBytes({ metadata, tensors: [codesOf("a.weight", [4, 32], Array(128).fill(1))] });
  await assert.rejects(openModel(fetchOnly, fileOf("m.gguf", whole.slice(0, -1))), { code: "INVALID_FILE" });
});

/** A tiny model with its matrices in 8-bit floats, and the same values in f32. */
async function models(name, scaleOf) {
  const parts = await partsOf(name, "gguf");
  const [packed, plain] = [[], []];
  for (const tensor of parts.tensors) {
    if (tensor.shape.length === 1 || !tensor.name.endsWith(".weight")) {
      packed.push(tensor);
      plain.push(tensor);
      continue;
    }
    const { shape } = tensor;
    const values = new Float32Array(tensor.data.slice().buffer);
    const scales = Array.from({ length: shape.length === 3 ? shape[0] : 1 }, (_, i) => scaleOf?.(i) ?? 1);
    const scale = (i) => scales[Math.floor((i * scales.length) / values.length)];
    const nearest = Array.from(values, (value, i) =>
      FINITE.reduce((best, one) =>
        Math.abs(one.value - value / scale(i)) < Math.abs(best.value - value / scale(i)) ? one : best,
      ),
    );
    packed.push(codesOf(tensor.name, shape, nearest.map(({ code }) => code))); // prettier-ignore
    if (scaleOf) packed.push(floats(tensor.name.replace("weight", "scale"), scales));
    plain.push({ ...tensor, data: bytesOf(Float32Array.from(nearest, ({ value }, i) => value * scale(i))) });
  }
  return [packed, plain].map((tensors) => written({ ...parts, tensors }, "gguf"));
}

for (const [name, scaleOf] of [
  ["llama", undefined],
  ["llama", () => 2 ** -4],
  ["qwen3_moe", (expert) => 2 ** -(3 + (expert % 4))],
])
  test(`${name} in 8-bit floats, ${scaleOf ? "with" : "without"} scales: the logits of its values`, async () => {
    const logits = [];
    for (const file of await models(name, scaleOf)) {
      const model = await rw.model(file, { kv: { dtype: "f32" }, contextLength: 64 });
      const session = model.session();
      await session.append([5, 17, 33, 9, 41, 2, 60, 23]);
      logits.push(Float32Array.from(session.logits()));
      model.dispose();
    }
    assert.ok(largestDifference([logits[0]], [logits[1]]) < 1e-5);
  });
