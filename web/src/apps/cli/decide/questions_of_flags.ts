// The questions of `ropewalk decide`: one from its options, or several from a file.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { DecisionQuestion, DecisionQuestions, DecisionText } from "../../../index.node.js";
import { text as readStream } from "node:stream/consumers";
import { parseOrdered } from "../../decisions/ordered_json.js";
import { questionsOf } from "../../decisions/systemone.js";
import { readTextFile } from "../input_file.js";

/** Options about the questions and the state. */
export interface QuestionFlags {
  state?: string;
  stateFile?: string;
  question?: string;
  choice?: string[];
  level?: string[];
  questions?: string;
}

/** The name of the question that the options ask. */
const ONLY = "answer";

/** @throws INVALID_ARGUMENT, INVALID_FILE */
export async function questionsFrom({ question, choice, level, questions }: QuestionFlags): Promise<DecisionQuestions> {
  if (questions !== undefined) {
    const other = question !== undefined ? "--question" : choice !== undefined ? "--choice" : level && "--level";
    if (other) fail("INVALID_ARGUMENT", other, "can't be used with --questions, which has all questions");
    return questionsOf(await readJson(questions)) as DecisionQuestions;
  }
  if (choice !== undefined && level !== undefined)
    fail(
      "INVALID_ARGUMENT",
      "--level",
      "can't be used with --choice",
      advise.other("ask one question, or pass --questions"),
    );
  const instructions = question === undefined ? {} : { instructions: question };
  return [[ONLY, questionOf(choice, level, instructions)]];
}

function questionOf(
  choice: readonly string[] | undefined,
  level: readonly string[] | undefined,
  instructions: { instructions?: string },
): DecisionQuestion {
  if (choice !== undefined) return { type: "choice", criteria: choice.map(optionOf), ...instructions };
  if (level !== undefined) return { type: "score", criteria: level, ...instructions };
  if (instructions.instructions === undefined)
    fail(
      "INVALID_ARGUMENT",
      "--question",
      "is missing",
      advise.other(
        "ask for yes or no with --question, name options with --choice or levels with --level, or pass --questions",
      ),
    );
  return { type: "boolean", ...instructions };
}

/** `name` or `name=description`. */
function optionOf(text: string): readonly [string, string | null] {
  const at = text.indexOf("=");
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1) || null];
}

/** The text of --state, of stdin, or of a file; JSON of a file whose name ends in .json. @throws INVALID_ARGUMENT, INVALID_FILE */
export async function stateFrom({ state, stateFile }: QuestionFlags): Promise<DecisionText> {
  if (state !== undefined && stateFile !== undefined)
    fail("INVALID_ARGUMENT", "--state-file", "can't be used with --state");
  if (state === "-") return withoutBreak(await readStream(process.stdin));
  if (state !== undefined) return state;
  if (stateFile === undefined)
    return fail(
      "INVALID_ARGUMENT",
      "--state",
      "is missing",
      advise.other("pass the text to decide about, - for stdin, or --state-file"),
    );
  if (/\.json$/i.test(stateFile)) return (await readJson(stateFile)) as DecisionText;
  return withoutBreak(await readTextFile(stateFile));
}

/** Programs end their output with a line break that isn't part of the text. */
const withoutBreak = (text: string): string => text.replace(/\r?\n$/, "");

async function readJson(path: string): Promise<unknown> {
  const text = await readTextFile(path);
  try {
    return parseOrdered(text);
  } catch (cause) {
    return fail("INVALID_FILE", path, `isn't valid JSON: ${(cause as Error).message}`, { cause });
  }
}
