// The file that keeps the evaluations of a search: a line that says which search it is, and one for each evaluation.
import * as advise from "../../../core/base/advice.js";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import type { ModelInfo } from "../../../index.node.js";
import type { SearchEvaluation } from "../../search/search.js";
import type { SearchText } from "../../search/texts.js";
import { readTextFile } from "../input_file.js";
import { failWriting } from "../output_file.js";

/** What evaluations depend on. */
export interface SearchIdentity {
  readonly model: ModelInfo;
  readonly length: number;
  readonly trainedLength: number | undefined;
  readonly otherTokens: number | undefined;
  readonly seed: number;
  readonly texts: readonly SearchText[];
}

export interface SearchState {
  /** Evaluations of earlier runs. */
  readonly evaluated: readonly SearchEvaluation[];
  /** Writes another one. */
  readonly keep: (evaluation: SearchEvaluation) => void;
  /** What is kept, for someone who interrupts the search. */
  readonly kept: () => string;
}

const VERSION = 1;

/**
 * Opens the state of a search, or begins one. Without a path nothing is kept.
 * @throws RopewalkError INVALID_ARGUMENT (the file is of another search, or can't be written), INVALID_FILE
 */
export async function openState(path: string | undefined, identity: SearchIdentity): Promise<SearchState> {
  if (path === undefined)
    return { evaluated: [], keep: () => undefined, kept: () => "nothing is kept; --state keeps candidates in a file" };
  const head = JSON.stringify({ "ropewalk search": VERSION, of: fingerprintOf(identity) });
  const lines = existsSync(path) ? (await readTextFile(path)).split("\n") : [""];
  const rest = lines.pop()!; // of a line that was being written when the program ended
  if (lines.length > 0 && lines[0] !== head)
    fail(
      "INVALID_ARGUMENT",
      "--state",
      `${path} isn't of this search`,
      advise.other("give the same model, length, texts and seed, or name another file"),
    );
  const evaluated = lines.slice(1).map((line, i) => evaluationOf(path, line, i + 2));
  if (lines.length === 0 && rest !== "")
    fail("INVALID_ARGUMENT", "--state", `${path} isn't the state of a search`, advise.other("name another file"));
  writing(path, () => writeFileSync(path, [head, ...lines.slice(1), ""].join("\n")));
  let count = evaluated.length;
  return {
    evaluated,
    keep: (evaluation) => {
      writing(path, () => appendFileSync(path, `${JSON.stringify(evaluation)}\n`));
      count++;
    },
    kept: () => `${path} keeps ${count} candidates; the same command goes on`,
  };
}

function fingerprintOf({ model, ...others }: SearchIdentity): string {
  const { name, architecture, parameters, formats } = model;
  const whole = JSON.stringify({ name, architecture, parameters, formats, ...others });
  return createHash("sha256").update(whole).digest("hex").slice(0, 32);
}

function evaluationOf(path: string, line: string, number: number): SearchEvaluation {
  try {
    const value: unknown = JSON.parse(line);
    if (isDict(value)) return value as unknown as SearchEvaluation;
  } catch {
    // said below
  }
  return fail("INVALID_FILE", path, `line ${number} is damaged`, advise.other("remove it and all lines after it"));
}

function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    failWriting("INVALID_ARGUMENT", "--state", path, cause);
  }
}
