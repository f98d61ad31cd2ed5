// Writes the TypeScript of the lists of fields in src/ (.def): the objects that the core takes, and their defaults.
//
//   node scripts/fields.mjs            writes the files
//   node scripts/fields.mjs --check    fails if one isn't up to date
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { writeOrCheck } from "./generated.mjs";
import { runMain } from "./run.mjs";

const LIST = `
/** Numbers in wasm memory: their address, and how many. @internal */
export interface List {
  values: number;
  size: number;
}
`;
const root = join(import.meta.dirname, "..");
// The files in web/src/memory/, and the lists of each.
const files = {
  "rope_fields.ts": { lists: ["rope/config_fields.def"], head: LIST },
  "model_fields.ts": {
    lists: ["vectors/norm_fields.def", "transformer/model_fields.def"],
    head: 'import { defaultQueryTemperature, type QueryTemperature } from "./rope_fields.js";\n',
  },
};
const headers = ["rope/config.h", "vectors/normalize.h", "vectors/activation.h", "transformer/model_config.h"];

const read = (path) => readFile(join(root, "src", path), "utf8");

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
  const numbers = new Map();
  for (const header of headers) {
    for (const [, name, members] of (await read(header)).matchAll(/enum class (\w+) : int \{([^}]*)\}/g)) {
      const names = members.replace(/\/\/.*/g, "").match(/\w+/g);
      names.forEach((member, number) => numbers.set(`${name}::${member}`, String(number)));
    }
  }
  return numbers;
}

/** The structs of a list: their comments, and the comment, type, name and default of each field. */
function structsOf(text) {
  const structs = [];
  let comment = [];
  for (const line of text.split("\n")) {
    const row = line.match(/^ROPEWALK_(\w+?)(?:\(([^)]*(?:\(\))?[^)]*)\))?(?:\s+\/\/ (.*))?$/);
    if (row === null) {
      comment = line.startsWith("// ") && line !== "// clang-format off" ? [...comment, line.slice(3)] : [];
      continue;
    }
    const [, kind, inside = "", note] = row;
    const [type, name, initial] = inside.split(", ");
    if (kind === "STRUCT") structs.push({ name: type, comment, fields: [] });
    if (kind === "FIELD") structs.at(-1).fields.push({ type, name, initial, comment: [...comment, note ?? ""] });
    if (kind === "LIST") structs.at(-1).fields.push({ type: "List", name: type, comment: [note ?? ""] });
    comment = [];
  }
  return structs;
}

const isOptional = (type) => type.startsWith("std::optional");

/** Embind needs a value of each field that isn't optional. */
const needed = (fields) => fields.filter(({ type }) => !isOptional(type));

const docOf = (lines) => {
  const text = lines.join(" ").trim();
  return text === "" ? "" : `/** ${text} */\n`;
};

/** The text of a file. */
async function source(target, { lists, head }, defined, numbers) {
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
  const structs = (await Promise.all(lists.map(async (list) => structsOf(await read(list))))).flat();
  const parts = structs.map(
    ({ name, comment, fields }) => `
${docOf([...comment, "@internal"])}export interface ${name} {
${fields.map(({ comment, name, type }) => `${docOf(comment)}${name}${isOptional(type) ? "?" : ""}: ${typeOf(type)};`).join("\n")}
}

/** @internal */
export function default${name}(): ${name} {
  return { ${needed(fields)
    .map((field) => `${field.name}: ${defaultOf(field)}`)
    .join(", ")} };
}
`,
  );
  const from = lists.map((list) => `src/${list}`).join(" and ");
  const text = `// Written by scripts/fields.mjs of ${from}. Enumerators are numbers.\n${head}${parts.join("")}`;
  return format(text, { ...(await resolveConfig(target)), filepath: target });
}

await runMain(import.meta.url, async (args) => {
  const lists = Object.values(files).flatMap((file) => file.lists);
  const names = await Promise.all(lists.map(async (list) => structsOf(await read(list)).map(({ name }) => name)));
  const numbers = await enumerators();
  for (const [name, file] of Object.entries(files)) {
    const path = `web/src/memory/${name}`;
    const text = await source(join(root, path), file, new Set(names.flat()), numbers);
    await writeOrCheck(args, path, text, "run node scripts/fields.mjs");
  }
});
