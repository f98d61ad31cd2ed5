// Writes the TypeScript of the functions that bindings/ exports: names, parameters and results.
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { writeOrCheck } from "../generated.mjs";
import { readSource } from "./lists.mjs";

/** The files in web/src/core/memory/, the interface in each, and the sources whose functions it has. */
const files = {
  "wasm_functions.ts": { name: "WasmFunctions", sources: ["rope", "attention", "kv_cache", "threads", "kernels"] },
  "wasm_model_functions.ts": {
    name: "WasmModelFunctions",
    sources: ["transformer", "forward", "recurrent_state", "adapters", "quantize", "sampler"],
  },
};

/** The structs that functions take and return, and the files that declare them. */
const structs = {
  "../config/rope_fields.js": ["RopeConfig"],
  "./call_fields.js": ["AttentionFields", "IntervalFields", "PlanFields", "PositionFields", "TensorFields"],
  "./model_fields.js": ["LayerConfig", "ModelConfig"],
  "./status.js": ["Status"],
};

const TYPES = {
  Address: "number",
  int: "number",
  double: "number",
  bool: "boolean",
  void: "void",
  StatusCode: "Status",
};
const known = Object.values(structs).flat();

function typeOf(text, where) {
  const name = text.replace(/^const (\w+)&$/, "$1");
  const type = TYPES[name] ?? (known.includes(name) ? name : undefined);
  if (type === undefined) throw new Error(`${where}: scripts/fields doesn't know the type ${text}`);
  return type;
}

const camelCase = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** The functions that a source defines: parameters, result and the comment above. */
function definitionsOf(text) {
  const found = text.matchAll(/((?:^\/\/ .*\n)*)^(?!static |struct |inline )([\w:]+&?) (\w+)\(([^)]*)\) \{/gm);
  return new Map(
    Array.from(found, ([, comment, result, name, parameters]) => [
      name,
      {
        result,
        comment: comment
          .replace(/^\/\/ /gm, "")
          .trim()
          .replace(/\n/g, " "),
        parameters: parameters.split(/,\s*/).filter((parameter) => parameter !== ""),
      },
    ]),
  );
}

/** The lines of an interface for what a source exports. */
async function linesOf(source) {
  const path = `bindings/${source}.cpp`;
  const text = await readSource(path);
  const definitions = definitionsOf(text);
  const exported = Array.from(text.matchAll(/function\("(\w+)", &(\w+)\)/g), ([, name, defined]) => {
    const where = `${path}: ${name}`;
    const definition = definitions.get(defined);
    if (definition === undefined) throw new Error(`${where}: ${defined} isn't defined there`);
    const parameters = definition.parameters.map((parameter) => {
      const [, type, own] = parameter.match(/^(.*) (\w+)$/);
      return `${camelCase(own)}: ${typeOf(type, where)}`;
    });
    const comment = definition.comment === "" ? "" : `/** ${definition.comment} */\n`;
    return `${comment}${name}(${parameters.join(", ")}): ${typeOf(definition.result, where)};`;
  });
  return [`// ${path}`, ...exported, ""];
}

async function textOf(target, { name, sources }) {
  const lines = (await Promise.all(sources.map(linesOf))).flat();
  const used = (names) => names.filter((one) => lines.some((line) => new RegExp(`: ${one}\\b`).test(line)));
  const imports = Object.entries(structs)
    .filter(([, names]) => used(names).length > 0)
    .map(([path, names]) => `import type { ${used(names).join(", ")} } from "${path}";`);
  const text = `// Written by scripts/fields.mjs of bindings/. Addresses and enumerators are numbers. A status is 0 for success.
${imports.join("\n")}

/** @internal */
export interface ${name} {
${lines.join("\n")}
}
`;
  return format(text, { ...(await resolveConfig(target)), filepath: target });
}

/** Writes the files, or with `--check` among the arguments throws an error if one isn't up to date. */
export async function writeWasmFunctions(args, advice) {
  for (const [name, file] of Object.entries(files)) {
    const path = `web/src/core/memory/${name}`;
    const text = await textOf(join(import.meta.dirname, "..", "..", path), file);
    await writeOrCheck(args, path, text, advice);
  }
}
