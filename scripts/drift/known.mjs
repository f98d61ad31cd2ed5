// What this package knows, from its own tables: for each kind of name, whether it knows one, and its value where there is one.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");
const built = join(root, "build", "package");
const module = (path) => import(join(built, path));

/** For each kind of fact: (name, value) → undefined if it isn't known, { value } if it is and has another value, else true. */
export async function knownNames() {
  return { ...(await scalings()), ...(await models()), ...(await gguf()), ...(await templates()), ...(await sdk()) };
}

const among = (...lists) => {
  const names = new Set(lists.flat());
  return (name) => names.has(name) || undefined;
};

async function scalings() {
  const { ROPE_TYPES } = await module("core/config/rope_fields.js");
  const { COMMON_KEYS, KEY_ALIASES, MROPE_KEYS, SCALING_KEYS, TYPE_ALIASES } =
    await module("core/config/scaling_keys.js");
  const { GGUF_SCALINGS } = await module("core/config/gguf.js");
  return {
    "rope type": among(ROPE_TYPES, Object.keys(TYPE_ALIASES)),
    "rope key": among(COMMON_KEYS, MROPE_KEYS, Object.keys(SCALING_KEYS), Object.keys(KEY_ALIASES), "rope_type"),
    "GGUF scaling": among(GGUF_SCALINGS),
  };
}

async function models() {
  const lookup = await module("core/config/family_lookup.js");
  const { IMAGE_ENCODERS, NESTING } = await module("core/config/families_refused.js");
  const { ARCHITECTURES } = await module("runtime/model/architectures/table.js");
  const { missingFor } = await module("runtime/model/architectures/unsupported.js");
  const { CLASS_DEFAULTS } = await module("runtime/model/config/class_defaults.js");
  const rotates = (name) =>
    lookup.knownFamily("hf", name).pairing !== undefined ||
    lookup.isWithoutRope("hf", name) ||
    lookup.refusalOf("hf", name) !== undefined;
  const rows = { hf: ARCHITECTURES.flatMap((row) => row.huggingFace), gguf: ARCHITECTURES.flatMap((row) => row.gguf) };
  const runs = (source) => (name) => rows[source].includes(name) || missingFor(name) !== undefined || undefined;
  const described = new Set(goldenOf("family_defaults.json").rows.map((row) => row.model_type)); // in docs/families.md, some as refused
  const modelType = (name) =>
    rotates(name) || IMAGE_ENCODERS.test(name) || NESTING.split(" ").includes(name) || described.has(name) || undefined;
  const { ROPE_KEYS } = await module("core/config/gguf_metadata.js");
  const read = wordsOf(built);
  const keyIsKnown = (name) => {
    const [, token] = /^tokenizer\.ggml\.(\w+)_token_id$/.exec(name) ?? []; // such keys are put together
    return name.startsWith("rope.")
      ? ROPE_KEYS.test(name.slice(5))
      : read.has(name) || (token !== undefined && read.has(token));
  };
  const tested = testedFields();
  const field = (name, value) => {
    const [type, key] = name.split(".");
    if (!rows.hf.includes(type)) return true; // of a model that isn't run, which is another line
    const known = CLASS_DEFAULTS[type]?.[key];
    if (known !== undefined && value !== undefined && JSON.stringify(known) !== JSON.stringify(value))
      return { value: known };
    return read.has(key) || tested.has(key) || undefined;
  };
  return {
    "model type": modelType,
    "language model": runs("hf"),
    "MLX model": (name) => modelType(name) || runs("hf")(name),
    field,
    base: (name, value) => {
      const { pairing, rope_theta, rope_scaling, layers } = lookup.knownFamily("hf", name);
      const own = [rope_theta ?? rope_scaling?.rope_theta ?? 10000];
      const bases = layers === undefined ? own : Object.values(layers).map((layer) => layer.rope_theta);
      const theirs = Object.values(value ?? {}).length > 0 ? Object.values(value) : [value];
      return pairing === undefined || theirs.every((base) => bases.includes(base)) || { value: bases };
    },
    "GGUF key": (name, readers) =>
      keyIsKnown(name) || readers?.every((reader) => !rows.gguf.includes(reader)) || undefined,
    "GGUF architecture": runs("gguf"),
  };
}

/** The fields of config classes that the tests change at random: each is computed, refused by name, or inert. */
function testedFields() {
  const { models } = goldenOf("random/config_fields.json");
  const changes = Object.values(models).flat();
  return new Set(changes.flatMap(({ set = {}, remove = [] }) => [...Object.keys(set), ...remove]));
}

const goldenOf = (path) => JSON.parse(readFileSync(join(root, "tests", "golden", path), "utf8"));

async function gguf() {
  const { GGML_TYPES } = await module("core/quantize/weight_formats.js");
  const { PRE_TOKENIZERS } = await module("runtime/text/pre_tokenizers.js");
  const { GGUF_TOKENIZERS } = await module("runtime/text/gguf_tokenizer.js");
  const tensorType = (name, number) => {
    const known = GGML_TYPES.indexOf(name);
    return known < 0 ? undefined : known === number || { value: known };
  };
  return {
    "tensor type": tensorType,
    "pre-tokenizer": among(PRE_TOKENIZERS),
    "GGUF tokenizer": among(GGUF_TOKENIZERS),
  };
}

async function templates() {
  const { FILTERS } = await module("runtime/text/template/filters/filters.js");
  const { isTest } = await module("runtime/text/template/tests.js");
  const { globalsOf } = await module("runtime/text/template/globals.js");
  const { Budget } = await module("runtime/text/template/values/budget.js");
  return {
    "template filter": among([...FILTERS.keys()]),
    "template test": (name) => isTest(name) || undefined,
    "template global": among(
      [...globalsOf(new Date(), new Budget({})).keys()],
      "true false none True False None".split(" "),
    ),
  };
}

async function sdk() {
  const texts = textsIn(join(built, "apps", "ai_sdk"), ".d.ts").concat(textsIn(join(built, "apps", "ai_sdk"), ".js"));
  const words = new Set(texts.flatMap((text) => text.match(/[\w-]+/g)));
  const versions = texts.flatMap((text) => [...text.matchAll(/\b(?:Experimental_)?(\w+?)ModelV(\d+)\b/g)]);
  return {
    "AI SDK version": among(versions.map(([, kind, number]) => `${kind.toLowerCase()}-model/v${number}`)),
    "AI SDK option": among([...words]),
    "AI SDK part": among([...words]),
  };
}

/** Every word in quotation marks in the scripts of some folders. */
function wordsOf(...folders) {
  const texts = folders.flatMap((folder) => textsIn(folder, ".js"));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/["'`]([\w.{}-]+)["'`]|\b(\w+):/g)].map(([, a, b]) => a ?? b)),
  );
}

const textsIn = (folder, ending) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(folder, name), "utf8"));
