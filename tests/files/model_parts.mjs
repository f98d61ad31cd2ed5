// The golden tiny models taken apart: tests change their configs and tensors, and write them again.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ggufBytes } from "./gguf_writer.mjs";
import { fetchOnly, fileOf, openModel, readWhole } from "./reading.mjs";
import { safetensorsBytes } from "./safetensors_writer.mjs";

const folder = fileURLToPath(new URL("../golden/tiny_models", import.meta.url));
const DTYPES = { f32: "F32", f16: "F16", bf16: "BF16" };

/** The bytes of a file in tests/golden/tiny_models/. */
export const readTiny = (path) => readFileSync(`${folder}/${path}`);

const isPacked = (name) => readTiny(`${name}/config.json`).includes("quantization_config");

/** The names of all tiny models in a format, `gguf` or `safetensors`, without packed ones, which written() can't write. */
export const tinyNames = (kind) =>
  readdirSync(folder).filter(
    (name) => existsSync(`${folder}/${name}/model.${kind}`) && (kind === "gguf" || !isPacked(name)),
  );

/** A model's config or metadata `keys`, its tensors { name, type, shape, data } and its other files. */
export async function partsOf(name, kind) {
  const isGguf = kind === "gguf";
  const optional = ["tokenizer.json"].filter((file) => existsSync(`${folder}/${name}/${file}`));
  const files = ["model.safetensors", "config.json", ...optional].map((file) =>
    fileOf(file, isGguf ? new Uint8Array() : readTiny(`${name}/${file}`)),
  );
  const model = await openModel(fetchOnly, isGguf ? fileOf("model.gguf", readTiny(`${name}/model.gguf`)) : files);
  const data = await readWhole(model);
  const tensors = [...model.tensors.values()].map(({ name, format, shape }) => ({
    name,
    type: format,
    shape: [...shape],
    data: data.get(name),
  }));
  return {
    keys: structuredClone({ ...(isGguf ? model.metadata : model.config) }),
    tensors,
    others: isGguf ? [] : files.slice(2),
  };
}

/** The files of a model, as `rw.model()` takes them. */
export function written({ keys, tensors, others }, kind) {
  if (kind === "gguf") return fileOf("model.gguf", ggufBytes({ metadata: keys, tensors }));
  const weights = Object.fromEntries(
    tensors.map(({ name, type, shape, data }) => [name, { dtype: DTYPES[type], shape, data }]),
  );
  return [
    fileOf("model.safetensors", safetensorsBytes(weights)),
    fileOf("config.json", new TextEncoder().encode(JSON.stringify(keys))),
    ...others,
  ];
}

/** A check that a good model still gives the same logits, bit for bit, as when this was called. */
export async function goodModelOf(rw, name = "llama") {
  const file = fileOf("model.gguf", readTiny(`${name}/model.gguf`));
  const bits = async () => {
    const model = await rw.model(file);
    try {
      const session = model.session();
      try {
        await session.append([1, 5, 9, 2]);
        return Buffer.from(session.logits().slice().buffer).toString("hex");
      } finally {
        session.dispose();
      }
    } finally {
      model.dispose();
    }
  };
  const expected = await bits();
  return async (message = "") => {
    if ((await bits()) !== expected) throw new Error(`the logits of a good model changed ${message}`);
  };
}
