// Writes what is said of the scaling types in src/rope/config_fields.def: the table of docs/scaling_types.md, and the sentences in
// web/src/core/config/scaling_keys.ts that name the types that read a key.
import { writeOrCheck } from "../generated.mjs";
import { keyGroups, readSource, scalingTypes, ungrouped } from "./lists.mjs";

const KEYS = "web/src/core/config/scaling_keys.ts";
const PAGE = "docs/scaling_types.md";
const WIDTH = 120;

/** Words in lines of a comment, each as long as it can be. */
function commentOf(text) {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= WIDTH) lines[lines.length - 1] = longer;
    else lines.push(`   * ${word}`);
  }
  return lines.join("\n");
}

/** The types that read a key, in words. */
function typesThatRead(name, types) {
  const common = ["rope_theta", "partial_rotary_factor", "llama_4_scaling_beta"];
  if (common.includes(name)) return "Types: all.";
  if (name.startsWith("mrope_")) {
    const others = types.filter(({ optional }) => optional.includes("axes_dim")).map((type) => type.name);
    return `Types: all but ${others.join(", ")}.`;
  }
  const needing = types.filter(({ required }) => required.includes(name)).map((type) => type.name);
  const reading = types.filter(({ required, optional }) => [...required, ...optional].includes(name));
  const required =
    needing.length === 0
      ? ""
      : needing.length === reading.length
        ? " Required."
        : ` Required by ${needing.join(", ")}.`;
  return `Types: ${reading.map((type) => type.name).join(", ")}.${required}`;
}

/** A paragraph "Types: …" of the comment of each key, and the key's default in it. */
const PARAGRAPH = /^ {3}\* Types: [^]*?\n(?= {3}\*\/\n {2}(\w+)\?)/gm;
const DEFAULT = / (Default: .*)$/;

const textOf = (paragraph) => paragraph.replace(/\n? {3}\* /g, " ").trim();

/** The defaults of keys, by their comments. */
function defaultsOf(keys) {
  const all = [...keys.matchAll(PARAGRAPH)].map(([paragraph, name]) => [name, textOf(paragraph).match(DEFAULT)]);
  return new Map(all.filter(([, found]) => found).map(([name, [, text]]) => [name, text.slice(9, -1)]));
}

function withSentences(keys, types) {
  return keys.replace(PARAGRAPH, (paragraph, name) => {
    const [, fallback] = textOf(paragraph).match(DEFAULT) ?? [];
    return `${commentOf([typesThatRead(name, types), ...(fallback ? [fallback] : [])].join(" "))}\n`;
  });
}

function withTable(page, types, defaults) {
  const shown = (name) => (defaults.has(name) ? `${name} (${defaults.get(name)})` : name);
  const rows = types.map(({ name, does, required, optional }) => {
    const keys = [...required.map((key) => `**${key}**`), ...optional.map(shown)];
    return `| \`${name}\` | ${does} | ${keys.join(", ")} |\n`;
  });
  return page.replace(/(\| `rope_type` \|.*\n\|---.*\n)(?:\|.*\n)*/, (_, head) => head + rows.join(""));
}

/** Writes them, or with `--check` among the arguments throws an error if they aren't up to date. */
export async function writeScalingTypes(args, advice) {
  const groups = await keyGroups();
  const types = (await scalingTypes()).map((type) => ({ ...type, optional: ungrouped(type.optional, groups) }));
  const keys = withSentences(await readSource(KEYS), types);
  await writeOrCheck(args, KEYS, keys, advice);
  await writeOrCheck(args, PAGE, withTable(await readSource(PAGE), types, defaultsOf(keys)), advice);
}
