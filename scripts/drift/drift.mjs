// Compares what this package knows with the newest releases of transformers, gguf, llama.cpp, mlx-lm, SGLang, @huggingface/jinja and
// @ai-sdk/provider, and prints each name that is unknown here and each default that is another one.
//
//   npm run drift                     all of them
//   npm run drift -- sglang gguf      some of them
//   npm run drift -- --list FILE      also writes the list into a file, if it isn't empty
//
// pip, npm and cargo fetch the releases into a cache outside the repository. scripts/drift/baseline.json has what is unknown on purpose, with
// the reason.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compareFacts, listOf } from "./compare.mjs";
import { knownNames } from "./known.mjs";
import { readGgufPackage, readLlamaCpp } from "./read_gguf.mjs";
import { readAiSdk, readJinja } from "./read_javascript.mjs";
import { readMlx, readSglang } from "./read_servers.mjs";
import { readTransformers } from "./read_transformers.mjs";
import { fetchSource, SOURCES } from "./sources.mjs";
import { runMain } from "../run.mjs";

/** How each source of sources.mjs is read. */
export const READERS = {
  transformers: readTransformers,
  gguf: readGgufPackage,
  "llama.cpp": readLlamaCpp,
  "mlx-lm": readMlx,
  sglang: readSglang,
  jinja: readJinja,
  "ai-sdk": readAiSdk,
};

/** What is unknown on purpose: one { kind, name, reason } for each name. */
export function readBaseline() {
  const groups = JSON.parse(readFileSync(join(import.meta.dirname, "baseline.json"), "utf8"));
  return groups.flatMap(({ kind, reason, names }) => names.map((name) => ({ kind, name, reason })));
}

await runMain(import.meta.url, async (args) => {
  const { values, positionals } = parseArgs({ args, options: { list: { type: "string" } }, allowPositionals: true });
  const other = positionals.find((name) => !Object.hasOwn(SOURCES, name));
  if (other !== undefined) throw new Error(`"${other}" isn't a source: ${Object.keys(SOURCES).join(", ")}`);
  const names = positionals.length > 0 ? positionals : Object.keys(SOURCES);
  const facts = [];
  for (const name of names) {
    const { title, version, folder } = fetchSource(name);
    const source = `${title} ${version}`;
    const found = READERS[name](folder);
    if (found.length === 0) throw new Error(`nothing was found in ${source}: its layout has changed`);
    facts.push(...found.map((fact) => ({ ...fact, source })));
    console.error(`${source}: ${found.length} names`);
  }
  const baseline = readBaseline();
  const result = compareFacts(facts, await knownNames(), baseline);
  const isWhole = names.length === Object.keys(SOURCES).length;
  const list = listOf(isWhole ? result : { ...result, stale: [] });
  const day = new Date().toISOString().slice(0, 10);
  const covered = `${baseline.length} names are unknown on purpose (scripts/drift/baseline.json).`;
  console.log(list === "" ? `${day}: nothing new. ${covered}` : `# New on ${day}\n\n${list}\n\n${covered}`);
  if (values.list !== undefined && list !== "") writeFileSync(values.list, `${list}\n`);
});
