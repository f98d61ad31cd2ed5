// Writes a GGUF file with the shape of a released model and random weights: `node tests/bench/random_model/random_model.mjs FILE SHAPE TYPE`.
import { tensorBytes, typed, writeGguf } from "../../files/gguf_writer.mjs";
import { metadataOf, tensorsOf } from "./layers.mjs";
import { FILE_TYPES, formatsOf, randomBlocks } from "./random_weights.mjs";
import { SHAPES } from "./shapes.mjs";
import { isMain } from "../../../examples/is_main.mjs";

/**
 * Writes a model and returns the file's length. `shape` is a name of {@link SHAPES}, or a shape like those. Weights have this standard
 * `deviation`, by default 0.02.
 */
export async function writeRandomModel(path, shape, fileType, deviation) {
  const sizes = SHAPES[shape] ?? shape;
  const all = tensorsOf(sizes);
  const matrices = all.filter(({ rows }) => rows !== undefined);
  const formats = new Map(
    formatsOf(matrices, fileType).map((type, i) => [matrices[i], { type, seed: 1 + 7919 * (i + 1) }]),
  );
  const tensors = all.map((tensor) => {
    const format = formats.get(tensor);
    if (format === undefined) return constant(tensor);
    const { name, count, rows, columns } = tensor;
    const matrix = { name, type: format.type, shape: [...(count === undefined ? [] : [count]), rows, columns] };
    return { ...matrix, data: () => randomBlocks(format.type, tensorBytes(matrix), format.seed, deviation) };
  });
  const metadata = {
    "general.architecture": sizes.architecture,
    "general.name": SHAPES[shape] === undefined ? "random" : `random ${shape}`,
    ...metadataOf(sizes),
    ...tokenizerOf(sizes.vocabulary),
  };
  return writeGguf(path, { metadata, tensors });
}

function constant({ name, shape, value }) {
  const elements = shape.reduce((product, size) => product * size);
  return { name, type: "f32", shape, data: new Uint8Array(new Float32Array(elements).fill(value).buffer) };
}

/** One token for each byte, and names for the rest, so that a text of n letters has n tokens. */
function tokenizerOf(vocabulary) {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const tokens = ["<unk>", "<s>", "</s>", ...bytes, ...Array.from({ length: vocabulary - 259 }, (_, i) => `<${i}>`)];
  const scores = tokens.map((_, i) => -i);
  const types = tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1));
  return {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.scores": typed("f32", scores),
    "tokenizer.ggml.token_type": typed("i32", types),
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 0,
    "tokenizer.ggml.add_bos_token": false,
    "tokenizer.ggml.add_space_prefix": false,
  };
}

if (isMain(import.meta.url)) {
  const [path, shape, fileType] = process.argv.slice(2);
  if (SHAPES[shape] === undefined || !FILE_TYPES.includes(fileType)) {
    console.error(`usage: random_model.mjs FILE ${Object.keys(SHAPES).join("|")} ${FILE_TYPES.join("|")}`);
    process.exitCode = 2;
  } else {
    console.log(`${path}: ${await writeRandomModel(path, shape, fileType)} bytes`);
  }
}
