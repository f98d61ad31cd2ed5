// Writes what TypeScript and the docs have of the lists in src/ and bindings/ (.def) and of the functions in bindings/: the objects that the
// core takes, their defaults, the scaling types, and the declarations of the wasm module.
//
//   node scripts/fields.mjs            writes the files
//   node scripts/fields.mjs --check    fails if one isn't up to date
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { writeOrCheck } from "./generated.mjs";
import { keyGroups, readSource, rowsOf, scalingTypes } from "./fields/lists.mjs";
import { writeScalingTypes } from "./fields/scaling_types.mjs";
import { writeWasmFunctions } from "./fields/wasm_functions.mjs";
import { runMain } from "./run.mjs";

const LIST = `
/** Numbers in wasm memory: their address, and how many. @internal */
export interface List {
  values: number;
  size: number;
}
`;
const ADVICE = "run node scripts/fields.mjs";
const root = join(import.meta.dirname, "..");
// The files in web/src/, and the lists of each.
const files = {
  "core/config/rope_fields.ts": {
    lists: ["src/rope/config_fields.def"],
    head: async () => LIST + (await scalingTable()),
  },
  "core/memory/model_fields.ts": {
    lists: ["src/vectors/norm_fields.def", "src/transformer/model_fields.def"],
    head: () => 'import { defaultQueryTemperature, type QueryTemperature } from "../config/rope_fields.js";\n',
  },
  "core/memory/call_fields.ts": { lists: ["bindings/call_fields.def"], head: () => "", hasDefaults: false },
};
const headers = [
  "src/rope/config.h",
  "src/vectors/normalize.h",
  "src/vectors/activation.h",
  "src/transformer/model_config.h",
];

/** Numbers that the lists name. */
const CONSTANTS = {
  "std::numeric_limits<float>::infinity()": "Infinity",
  "std::numeric_limits<double>::quiet_NaN()": "NaN",
  kNoWindow: "2 ** 31 - 1",
  kOwnKeys: "-1",
  kAllElements: "-Infinity",
  false: "false",
  true: "true",
};

/** The enumerators of the headers, as `Activation::silu`, and their numbers. */
async function enumerators() {
  const numbers = new Map([["RopeType::default_", "0"]]);
  for (const header of headers) {
    for (const [, name, members] of (await readSource(header)).matchAll(/enum class (\w+) : int \{([^}]*)\}/g)) {
      const names = members.replace(/\/\/.*/g, "").match(/\w+/g);
      names.forEach((member, number) => numbers.set(`${name}::${member}`, String(number)));
    }
  }
  return numbers;
}

/** The structs of a list: their comments, and the comment, type, name and default of each field. */
function structsOf(text) {
  const structs = [];
  for (const { kind, values, comment, note } of rowsOf(text)) {
    const add = (type, name, initial) =>
      structs.at(-1).fields.push({ type, name, initial, comment: [...comment, note ?? ""] });
    if (kind === "STRUCT") structs.push({ name: values[0], comment, fields: [] });
    if (kind === "FIELD") add(...values);
    if (kind === "NUMBER" || kind === "LENGTH") add("std::optional<double>", values[0], "{}");
    if (kind === "LIST") add("List", values[0]);
  }
  return structs;
}

/** The scaling types as constants. Apps that don't use one don't download it. */
async function scalingTable() {
  const types = await scalingTypes();
  const quoted = (names) => `[${names.map((name) => `"${name}"`).join(", ")}]`;
  const groups = await keyGroups();
  const keyed = (names) =>
    names.length === 1 && groups.has(names[0])
      ? names[0]
      : `[${names.map((name) => (groups.has(name) ? `...${name}` : `"${name}"`)).join(", ")}]`;
  const constants = [...groups].map(([name, names]) => `const ${name}: Keys = ${keyed(names)};`);
  const having = (list, name) => types.filter((type) => type[list].includes(name)).map((type) => type.name);
  const keys = types.map(
    ({ name, required, optional, does }) => `/** ${does} */\n${name}: [${keyed(required)}, ${keyed(optional)}],`,
  );
  const systems = ["hf", "llama.cpp", "vllm"].map((name) => `"${name}": ${quoted(having("systems", name))},`);
  return `
type Keys = readonly (keyof RopeConfig)[];
${constants.join("\n")}

/** The keys that each scaling type needs, and those that it reads besides. @internal */
export const TYPE_KEYS: Readonly<Record<RopeType, readonly [needed: Keys, optional: Keys]>> = {
${keys.join("\n")}
};

/** The scaling types. \`RopeScaling\` says which keys each of them reads. */
export const ROPE_TYPES = /* @__PURE__ */ Object.keys(TYPE_KEYS) as unknown as readonly ${quoted(types.map(({ name }) => name))};
/** One of {@link ROPE_TYPES}. */
export type RopeType = (typeof ROPE_TYPES)[number];

/** The scaling types that each system has. @internal */
export const SYSTEM_TYPES = {
${systems.join("\n")}
} as const satisfies Record<string, readonly RopeType[]>;

/** Types whose frequencies depend on the length of the sequence. @internal */
export const BY_LENGTH: readonly RopeType[] = ${quoted(having("traits", "by_length"))};

/** Types whose frequencies are those of a larger base. @internal */
export const LARGER_BASE: readonly RopeType[] = ${quoted(having("traits", "larger_base"))};
`;
}

const isOptional = (type) => type.startsWith("std::optional");

/** Embind needs a value of each field that isn't optional. */
const needed = (fields) => fields.filter(({ type }) => !isOptional(type));

const docOf = (lines) => {
  const text = lines.join(" ").trim();
  return text === "" ? "" : `/** ${text} */\n`;
};

/** The text of a file. */
async function source(target, { lists, head, hasDefaults = true }, defined, numbers) {
  const typeOf = (type) => {
    if (type === "bool") return "boolean";
    if (type === "DenseConfigs") return "[DenseConfig, DenseConfig, DenseConfig]";
    if (defined.has(type) || type === "List") return type;
    return isOptional(type) ? "number | undefined" : "number";
  };
  const defaultOf = ({ type, initial }) => {
    if (type === "List") return "{ values: 0, size: 0 }";
    if (type === "DenseConfigs") return "[defaultDenseConfig(), defaultDenseConfig(), defaultDenseConfig()]";
    if (defined.has(type)) return `default${type}()`;
    if (initial in CONSTANTS) return CONSTANTS[initial];
    const number = numbers.get(initial) ?? initial.replace(/f$/, "");
    if (!Number.isFinite(Number(number))) throw new Error(`scripts/fields.mjs doesn't know the default ${initial}`);
    return number;
  };
  const defaultsOf = (name, fields) => `
/** @internal */
export function default${name}(): ${name} {
  return { ${needed(fields)
    .map((field) => `${field.name}: ${defaultOf(field)}`)
    .join(", ")} };
}
`;
  const structs = (await Promise.all(lists.map(async (list) => structsOf(await readSource(list))))).flat();
  const parts = structs.map(
    ({ name, comment, fields }) => `
${docOf([...comment, "@internal"])}export interface ${name} {
${fields.map(({ comment, name, type }) => `${docOf(comment)}${name}${isOptional(type) ? "?" : ""}: ${typeOf(type)};`).join("\n")}
}
${hasDefaults ? defaultsOf(name, fields) : ""}`,
  );
  const from = lists.join(" and ");
  const text = `// Written by scripts/fields.mjs of ${from}. Enumerators are numbers.\n${await head()}${parts.join("")}`;
  return format(text, { ...(await resolveConfig(target)), filepath: target });
}

await runMain(import.meta.url, async (args) => {
  const lists = Object.values(files).flatMap((file) => file.lists);
  const names = await Promise.all(lists.map(async (list) => structsOf(await readSource(list)).map(({ name }) => name)));
  const numbers = await enumerators();
  for (const [name, file] of Object.entries(files)) {
    const path = `web/src/${name}`;
    const text = await source(join(root, path), file, new Set(names.flat()), numbers);
    await writeOrCheck(args, path, text, ADVICE);
  }
  await writeScalingTypes(args, ADVICE);
  await writeWasmFunctions(args, ADVICE);
});
