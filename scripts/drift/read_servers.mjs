// The types and keys of a scaling that MLX and SGLang read, and the model types of MLX.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stringsIn } from "./python_text.mjs";

const facts = (kind, where, names) => [...new Set(names)].filter(Boolean).map((name) => ({ kind, name, where }));

/** Returns the facts of mlx-lm: { kind, name, where }. */
export function readMlx(folder) {
  const models = join(folder, "mlx_lm", "models");
  const where = "rope_utils.py";
  const text = readFileSync(join(models, where), "utf8");
  const names = readdirSync(models).filter(
    (file) => file.endsWith(".py") && isModel(readFileSync(join(models, file), "utf8")),
  );
  return [
    ...facts("rope type", where, typesIn(text, "rope_type")),
    ...facts("rope key", where, keysIn(text, "scaling_config")),
    ...facts(
      "MLX model",
      "models/",
      names.map((file) => file.slice(0, -3)),
    ),
  ];
}

const isModel = (text) => /^class Model\(/m.test(text) && /\brope|RoPE/.test(text);

/** Returns the facts of SGLang's factory of rotary embeddings. */
export function readSglang(folder) {
  const where = "rotary_embedding/factory.py";
  const text = readFileSync(join(folder, "sglang", "srt", "layers", where), "utf8");
  return [
    ...facts("rope type", where, typesIn(text, "scaling_type")),
    ...facts("rope key", where, keysIn(text, "rope_scaling")),
  ];
}

/** The names that a variable is compared with. */
function typesIn(text, variable) {
  const compared = [...text.matchAll(new RegExp(`\\b${variable} (?:==|in) (\\[[^\\]]*\\]|\\([^)]*\\)|"[^"]*")`, "g"))];
  return compared.flatMap(([, names]) => stringsIn(names));
}

/** The keys that are taken from a dictionary, and those of lists that its items are chosen by. */
function keysIn(text, dictionary) {
  const taken = [...text.matchAll(new RegExp(`\\b${dictionary}(?:\\.get\\(|\\[)\\s*"(\\w+)"`, "g"))].map(
    ([, key]) => key,
  );
  const named = [...text.matchAll(new RegExp(`${dictionary},\\s*"(\\w+)"`, "g"))].map(([, key]) => key);
  const chosen = [...text.matchAll(/for (?:key|k, v) in [^[(]*(?:\[([^\]]*)\]|\(\)\s*if k\s*in \(([^)]*)\))/g)];
  return [...taken, ...named, ...chosen.flatMap(([, list, tuple]) => stringsIn(list ?? tuple))];
}
