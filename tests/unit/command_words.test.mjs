// The command line says errors in its own words: no message of the package that a command can raise names a call or an option of the API.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import ts from "typescript";
import { RopewalkError } from "../../build/package/base/errors.js";
import { inCommandWords } from "../../build/package/cli/command_words.js";

const source = fileURLToPath(new URL("../../web/src/", import.meta.url));
/** Whose messages can reach a user of the program. */
const FOLDERS = ["base", "config", "files", "model", "text", "doctor", "rope", "cache", "load"];

/** Commands whose options have the names of the real ones. */
function commandWith(words) {
  const command = new Command("generate")
    .argument("[source]")
    .option("--context <n>")
    .option("--rope-type <type>")
    .option("--factor <n>")
    .option("--trained-length <n>")
    .option("--theta <n>")
    .option("--pairing <name>")
    .option("--set <key>")
    .option("--scaling <name>")
    .option("--top-p <p>")
    .option("--layer-type <kind>");
  return command.parse(words, { from: "user" });
}

const said = (field, message, words = [], code = "INVALID_ARGUMENT") =>
  inCommandWords(new RopewalkError(code, field, message), commandWith(words));

test("fields are the options that set them", () => {
  const cases = [
    ["contextLength", [], "--context"],
    ["topP", [], "--top-p"],
    ["layer_type", [], "--layer-type"],
    ["overrides.rope_scaling.factor", ["--factor", "4"], "--factor"],
    ["overrides.rope_scaling.original_max_position_embeddings", ["--trained-length", "4"], "--trained-length"],
    ["overrides.rope_theta", ["--theta", "4"], "--theta"],
    ["overrides.rope_scaling.beta_fast", ["--set", "x"], "--set rope_scaling.beta_fast"],
    ["overrides.rope_scaling.factor", ["--scaling", "x"], "--scaling"],
    ["rope_scaling.factor", ["--rope-type", "linear"], "--factor"],
    ["rope_scaling.short_factor", ["--rope-type", "longrope"], "--set rope_scaling.short_factor"],
    ["rope_scaling.short_factor", ["--scaling", "longrope"], "--scaling"],
    ["rope_scaling.factor", [], "rope_scaling.factor"], // of the file
    ["rope", ["--rope-type", "yarn", "--factor", "4"], "--rope-type, --factor"],
    ["texts[2]", [], "text 3"],
    ["documents[2]", [], "document 3"],
    ["folder: files", ["models/"], "models/"],
    ["model.gguf: magic", [], "model.gguf: magic"],
    ["", [], ""],
  ];
  for (const [field, words, expected] of cases) {
    const { field: actual, message } = said(field, "is wrong", words);
    assert.equal(actual, expected, field);
    assert.equal(message, expected === "" ? "is wrong" : `${expected}: is wrong`);
  }
});

test("--factor alone says that --rope-type is missing, and which types read it", () => {
  const message = "rope_type default doesn't read this key; only linear, yarn do";
  const alone = said("overrides.rope_scaling.factor", message, ["--factor", "4"], "UNKNOWN_KEY");
  assert.match(alone.message, /^--factor: needs --rope-type, .*; only linear, yarn do$/);
  const named = said("overrides.rope_scaling.factor", message, ["--factor", "4", "--rope-type", "default"]);
  assert.equal(named.message, "--factor: --rope-type default doesn't read it; only linear, yarn do");
});

/** Words that only code has: calls, names of options, and arguments of other kinds than a shell has. */
const CODE = /\b\w+\(\)|\b[a-z]+[A-Z]\w*|\boverrides\b|\btoken ids\b|: true\b|the option `|\bBlobs?\b|\bheaders?`/;

/**
 * Messages with such words that no command raises, by what they are about: arguments that the program itself passes,
 * and calls that it doesn't make.
 */
const ELSEWHERE = [
  /\bsave\(\)|\brw\.rope\(\)|\bload\(\)|call append\(\) first/,
  /^must be a URL, a path, a Blob/,
  /pass text, token ids or messages/,
  /^must be token ids|^must be text or token ids|^has no tokens; pass text, or token ids$/,
  /await it before …\(\)$/,
  /trace\(\), onLayer\(\) and steer\(\)|which keys\(\) returns|or raise maxBytes$|use JSON\.stringify\(\)$/, // views inside a session
  /pass `rope`, or `headDim`/,
  /^must be one or more token ids of the vocabulary/, // of a file
  /call promptTokens\(\), or leave out parseSpecial$/, // of renderChat(), which no command calls
  /merge_and_unload\(\)$|\(aLoRA\)/, // PEFT's names
];

test("no message of the package names what only code has", () => {
  const found = new Map();
  for (const path of FOLDERS.flatMap((folder) => filesIn(join(source, folder))))
    for (const text of messagesIn(path)) found.set(text, path);
  assert.ok(found.size > 300, `${found.size} messages`);
  const leaks = [...found].flatMap(([text, path]) => {
    const { message } = said("", text);
    if (!CODE.test(message) || ELSEWHERE.some((pattern) => pattern.test(text))) return [];
    return [`${path.slice(source.length)}: ${message}`];
  });
  assert.deepEqual(leaks, []);
});

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".ts")).map((name) => join(folder, name)); // prettier-ignore

/** The texts of all calls that raise errors. Values in a template are written as …. */
function messagesIn(path) {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const texts = [];
  const visit = (node, inError) => {
    const raises =
      inError ||
      (ts.isCallExpression(node) &&
        /^(fail\w*|refuse|invalid\w*|unsupported\w*|networkError|reject)$/.test(nameOf(node)));
    if (raises && (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node))) texts.push(node.text);
    if (raises && ts.isTemplateExpression(node))
      texts.push(node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join(""));
    ts.forEachChild(node, (child) => visit(child, raises));
  };
  visit(file, false);
  return texts.filter((text) => text.includes(" "));
}

function nameOf({ expression }) {
  return expression.name?.text ?? expression.text ?? "";
}
