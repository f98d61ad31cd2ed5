// The command line names options and arguments for the fields of errors.
import assert from "node:assert/strict";
import test from "node:test";
import { Command } from "commander";
import { RopewalkError } from "../../../build/package/core/base/errors.js";
import { inCommandWords } from "../../../build/package/apps/cli/command_words.js";

/** A command whose options have the names of the real ones. */
function commandWith(words) {
  const command = new Command("generate")
    .argument("[source]")
    .option("--context <n>")
    .option("--rope-type <type>")
    .option("--factor <n>")
    .option("--trained-length <n>")
    .option("--theta <n>")
    .option("--pairing <name>")
    .option("--set <key>", "a key and its value", (key) => [[key.split("."), 1]])
    .option("--scaling <name>")
    .option("--top-p <p>")
    .option("--layer-type <kind>")
    .option("--json-schema <file>");
  return command.parse(words, { from: "user" });
}

test("fields are the options that set them", () => {
  const cases = [
    ["contextLength", [], "--context"],
    ["topP", [], "--top-p"],
    ["layer_type", [], "--layer-type"],
    ["overrides.rope_scaling.factor", ["--factor", "4"], "--factor"],
    ["overrides.rope_scaling.original_max_position_embeddings", ["--trained-length", "4"], "--trained-length"],
    ["overrides.rope_theta", ["--theta", "4"], "--theta"],
    ["overrides.rope_scaling.beta_fast", ["--set", "x"], "--set rope_scaling.beta_fast"],
    ["overrides.rope_theta", ["--set", "rope_theta"], "--set rope_theta"],
    ["rope_theta", ["--set", "rope_theta"], "--set rope_theta"],
    ["rope_theta", ["--theta", "4"], "--theta"],
    ["rope_theta", [], "rope_theta"], // of the file
    ["overrides.rope_scaling.factor", ["--scaling", "x"], "--scaling"],
    ["rope_scaling.factor", ["--rope-type", "linear"], "--factor"],
    ["rope_scaling.short_factor", ["--rope-type", "longrope"], "--set rope_scaling.short_factor"],
    ["rope_scaling.short_factor", ["--scaling", "longrope"], "--scaling"],
    ["rope_scaling.factor", [], "rope_scaling.factor"], // of the file
    ["rope", ["--rope-type", "yarn", "--factor", "4"], "--rope-type, --factor"],
    ["rope", [], "rope"],
    ["format", ["--json-schema", "x"], "--json-schema"],
    ["texts[2]", [], "text 3"],
    ["documents[2]", [], "document 3"],
    ["folder: files", ["models/"], "models/"],
    ["model.gguf: magic", [], "model.gguf: magic"],
    ["", [], ""],
  ];
  for (const [field, words, expected] of cases) {
    const error = new RopewalkError("INVALID_ARGUMENT", field, "is wrong");
    const message = expected === "" ? "is wrong" : `${expected}: is wrong`;
    assert.deepEqual(inCommandWords(error, commandWith(words)), { field: expected, message });
  }
});
