// What a release of transformers has: types and keys of a scaling, and the model types that may have RoPE or run as language models, with
// the fields of their config classes and their defaults.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { block, classesOf, stringsIn } from "./python_text.mjs";

/** The tables of models that read or write text. */
const TEXT_MODELS = [
  "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
  "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
  "MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES",
];

/** Returns facts: { kind, name, value?, where }. */
export function readTransformers(folder) {
  const root = join(folder, "transformers");
  return [...scalings(root), ...models(root)];
}

function* scalings(root) {
  const where = "modeling_rope_utils.py";
  const text = readFileSync(join(root, where), "utf8");
  const fact = (kind) => (name) => ({ kind, name, where });
  const types = [...block(text, "ROPE_INIT_FUNCTIONS:", "}").matchAll(/^ {4}"(\w+)":/gm)].map(([, name]) => name);
  const checked = [...text.matchAll(/def _validate_(\w+)_rope_parameters/g)].map(([, name]) => name);
  yield* [...new Set([...types, ...checked])].map(fact("rope type"));
  const fields = [...block(text, "class RopeParameters(", "class ").matchAll(/^ {4}(\w+): [\w[]/gm)];
  const keys = [...text.matchAll(/(?:required|optional)_keys = (\{[^}]*\})/g)].flatMap(([, set]) => stringsIn(set));
  yield* [...new Set([...fields.map(([, name]) => name), ...keys])].map(fact("rope key"));
}

function* models(root) {
  const classes = allClasses(join(root, "models"));
  const text = readFileSync(join(root, "models", "auto", "modeling_auto.py"), "utf8");
  const listed = TEXT_MODELS.flatMap((table) => [...block(text, `${table} =`, ")").matchAll(/\("([^"]+)",/g)]);
  const names = new Set(listed.map(([, name]) => name));
  yield* [...names].map((name) => ({ kind: "language model", name, where: "auto/modeling_auto.py" }));
  for (const one of classes.values()) {
    const name = one.constants.get("model_type");
    if (typeof name !== "string" || name === "") continue;
    const where = one.file;
    if (/RopeParameters|default_theta/.test(one.text) || inherited(one, classes).has("rope_parameters"))
      yield { kind: "model type", name, where };
    const text = textClass(one, classes) ?? one;
    for (const [field, value] of inherited(text, classes))
      yield { kind: "field", name: `${name}.${field}`, value, where };
    const base = inherited(one, classes, "constants").get("default_theta");
    if (base !== undefined) yield { kind: "base", name, value: base, where };
  }
}

/** The config classes of all models, by name. */
function allClasses(root) {
  const all = new Map();
  for (const model of readdirSync(root)) {
    const folder = join(root, model);
    if (!existsSync(join(folder, "__init__.py"))) continue;
    for (const file of readdirSync(folder).filter((name) => /^configuration_\w+\.py$/.test(name)))
      for (const [name, one] of classesOf(readFileSync(join(folder, file), "utf8"))) all.set(name, { ...one, file });
  }
  return all;
}

/** A class's fields, or its constants, and those of the classes above it. */
function inherited(one, classes, kind = "fields") {
  const above = one.bases.flatMap((base) =>
    classes.has(base) ? [...inherited(classes.get(base), classes, kind)] : [],
  );
  return new Map([...above, ...one[kind]]);
}

/** The class of the language model of a class with several models. */
function textClass({ text }, classes) {
  const [, name] = /"text_config":\s*(\w+Config)\b/.exec(text) ?? [];
  return classes.get(name);
}
