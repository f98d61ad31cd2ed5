// The flags of `generate` and `chat` for what the text may look like.
import type { Command } from "commander";
import { fail } from "../../../core/base/errors.js";
import { formatGrammar } from "../../../runtime/grammar/format.js";
import type { GenerateOptions, OutputFormat } from "../../../index.node.js";
import { renamed } from "../../../core/base/field_names.js";
import { readTextFile } from "../input_file.js";
import { GROUPS } from "../option_groups.js";
import { repeatable } from "../options.js";

/** Values of the options that {@link addFormatOptions} adds. */
export interface FormatFlags {
  jsonObject?: true;
  jsonSchema?: string;
  regex?: string;
  choice?: string[];
  grammar?: string;
}

const NAMES = {
  jsonObject: "--json-object",
  jsonSchema: "--json-schema",
  regex: "--regex",
  choice: "--choice",
  grammar: "--grammar",
} as const;

/** Adds the options, of which one may be given. */
export function addFormatOptions(command: Command): void {
  command
    .optionsGroup(GROUPS.format)
    .option("--json-object", "generate a JSON object")
    .option("--json-schema <file>", "generate JSON that matches the JSON schema in a file")
    .option("--regex <pattern>", "generate a text that a regular expression matches as a whole")
    .option("--choice <text>", "generate one of these texts; repeatable", repeatable(String))
    .option("--grammar <file>", "generate a text of the grammar in a file, in llama.cpp's format GBNF");
}

/** @throws INVALID_ARGUMENT: several flags; INVALID_FILE: a file can't be read, or isn't JSON */
export async function formatFrom(flags: FormatFlags): Promise<Pick<GenerateOptions, "format">> {
  const given = (Object.keys(NAMES) as (keyof FormatFlags)[]).filter((name) => flags[name] !== undefined);
  const [first, second] = given;
  if (first === undefined) return {};
  if (second !== undefined) fail("INVALID_ARGUMENT", NAMES[second], `can't be used with ${NAMES[first]}`);
  if (flags.jsonSchema !== undefined) return checked({ schema: await readJson(flags.jsonSchema) }, flags.jsonSchema);
  if (flags.regex !== undefined) return checked({ regex: flags.regex }, NAMES.regex);
  if (flags.choice !== undefined) return { format: { choices: flags.choice } };
  if (flags.grammar !== undefined) return checked({ grammar: await readTextFile(flags.grammar) }, flags.grammar);
  return { format: "json" };
}

/** Checks a format before a model is loaded. Errors name the file or flag. */
function checked(format: OutputFormat, name: string): { format: OutputFormat } {
  try {
    formatGrammar(format);
    return { format };
  } catch (error) {
    throw renamed(error, (field) => field.replace(/^format\.\w+/, name));
  }
}

async function readJson(path: string): Promise<object | boolean> {
  const text = await readTextFile(path);
  try {
    return JSON.parse(text) as object | boolean;
  } catch (cause) {
    fail("INVALID_FILE", path, `isn't valid JSON: ${(cause as Error).message}`, { cause });
  }
}
