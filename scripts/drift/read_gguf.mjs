// What llama.cpp's source and the gguf package have: architectures, keys, tensor types, pre-tokenizers.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { block, stringsIn } from "./python_text.mjs";

/** Returns the facts of llama.cpp's source: { kind, name, value?, where }. */
export function readLlamaCpp(folder) {
  const read = (path) => readFileSync(join(folder, path), "utf8");
  const facts = (kind, where, names) => [...new Set(names)].map((name) => ({ kind, name, where }));
  const arch = read("src/llama-arch.cpp");
  const architectures = stringsIn(block(arch, "LLM_ARCH_NAMES = {", "};")).filter(isName);
  const vocabulary = read("src/llama-vocab.cpp");
  const model = read("src/llama-model.cpp");
  const compared = (variable) =>
    [...vocabulary.matchAll(new RegExp(`\\b${variable} == "([^"]*)"`, "g"))].map(([, name]) => name).filter(Boolean);
  const types = [...read("ggml/include/ggml.h").matchAll(/^\s*GGML_TYPE_(\w+)\s*=\s*(\d+)/gm)];
  return [
    ...facts("GGUF architecture", "llama-arch.cpp", architectures),
    ...keysOf(block(arch, "LLM_KV_NAMES = {", "};"), join(folder, "src"), architectures),
    ...facts("GGUF scaling", "llama-model.cpp", stringsIn(block(model, "LLAMA_ROPE_SCALING_TYPES = {", "};"))),
    ...facts("pre-tokenizer", "llama-vocab.cpp", compared("tokenizer_pre")),
    ...facts("GGUF tokenizer", "llama-vocab.cpp", compared("tokenizer_model")),
    ...types.filter(([, name]) => name !== "COUNT").map(([, name, number]) => tensorType(name, number, "ggml.h")),
  ];
}

/** Files of llama.cpp that write keys or copy them. */
const WRITERS = ["llama-arch.cpp", "llama-arch.h", "llama-model-saver.cpp", "llama-quant.cpp"];

/**
 * The keys of metadata that something reads. `value` lists the architectures that do, of which models/ has a file each, or is undefined if
 * code that several share reads the key.
 */
function keysOf(table, folder, architectures) {
  const names = new Map([...table.matchAll(/\{\s*(LLM_KV_\w+),\s*"([^"]+)"/g)].map(([, id, name]) => [id, name]));
  const byFile = new Map(architectures.map((name) => [plain(name), name]));
  const readers = new Map();
  for (const path of readdirSync(folder, { recursive: true }).filter((file) => /\.(cpp|h)$/.test(file))) {
    if (WRITERS.includes(basename(path))) continue;
    const reader = path.startsWith("models") ? byFile.get(plain(basename(path, ".cpp"))) : undefined;
    const ids = new Set(readFileSync(join(folder, path), "utf8").match(/\bLLM_KV_\w+/g));
    for (const id of ids) readers.set(id, [...(readers.get(id) ?? []), reader]);
  }
  return [...readers].flatMap(([id, files]) => {
    const name = names.get(id);
    if (name === undefined) return [];
    const value = files.includes(undefined) ? undefined : files;
    return [{ kind: "GGUF key", name: keyName(name), value, where: value?.join(", ") ?? "several architectures" }];
  });
}

/** llama.cpp's files are named after their architecture, with other hyphens. */
const plain = (name) => name.replace(/[-_]/g, "");

/** Returns the facts of the gguf package. Who reads a key is only in llama.cpp, so keys of RoPE are all that is taken. */
export function readGgufPackage(folder) {
  const where = "constants.py";
  const text = readFileSync(join(folder, "gguf", where), "utf8");
  const facts = (kind, names) => [...new Set(names)].map((name) => ({ kind, name, where }));
  const enumOf = (name) => [...block(text, `class ${name}(`, "\n").matchAll(/^ {4}(\w+)\s*=\s*['"]?([^'"\s#]+)/gm)];
  return [
    ...facts("GGUF architecture", stringsIn(block(text, "MODEL_ARCH_NAMES:", "}")).filter(isName)),
    ...facts(
      "GGUF key",
      stringsIn(block(text, "class Keys:", "#\n"))
        .map(keyName)
        .filter((key) => key.startsWith("rope.")),
    ),
    ...facts(
      "GGUF scaling",
      enumOf("RopeScalingType").map(([, , name]) => name),
    ),
    ...enumOf("GGMLQuantizationType").map(([, name, number]) => tensorType(name, number, where)),
  ];
}

const tensorType = (name, number, where) => ({
  kind: "tensor type",
  name: name.toLowerCase(),
  value: Number(number),
  where,
});
const keyName = (key) => key.replace(/^(%s|\{arch\})\./, "");
const isName = (name) => /^[\w.-]+$/.test(name) && !/^(mmproj|LLM_)/.test(name) && name !== "(unknown)";
