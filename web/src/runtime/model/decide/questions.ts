// Typed questions: their types, and how they are read and checked.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { suggestion } from "../../../core/base/options.js";
import { show } from "../../../core/base/show.js";
import { type DecisionText, textOf } from "./decision_text.js";

export type { DecisionText } from "./decision_text.js";

/** Values by name: an object, or, where names are integers, whose order an object doesn't keep, a Map or a list of entries. */
export type ByName<Value> =
  Readonly<Record<string, Value>> | ReadonlyMap<string, Value> | readonly (readonly [name: string, value: Value])[];

/** Asks for one of several options. */
export interface ChoiceQuestion {
  type: "choice";
  /** The question. Default: `Which option fits best?` */
  instructions?: DecisionText | null;
  /** The options by name, 2 to 255, with what they mean; null for a name that says it. A list of names has no descriptions. */
  criteria: ByName<DecisionText | null> | readonly string[];
}

/** Asks for a level. */
export interface ScoreQuestion {
  type: "score";
  /** The question. Default: `Which level fits best?` */
  instructions?: DecisionText | null;
  /** What each level means, lowest first, 2 to 10. */
  criteria: readonly DecisionText[];
}

/** Asks for yes or no. The other names are those of TypeSafe, OpenAI and SGLang. */
export interface BooleanQuestion {
  type: "boolean" | "noul" | "predicate" | "yes_no";
  /** The question. Can be left out if there are criteria. */
  instructions?: DecisionText | null;
  /** What yes and no mean. */
  criteria?: { readonly true?: DecisionText | null; readonly false?: DecisionText | null } | null;
}

/** A question of {@link Model.decide}. */
export type DecisionQuestion = ChoiceQuestion | ScoreQuestion | BooleanQuestion;

/** Questions by name, at least one. */
export type DecisionQuestions = ByName<DecisionQuestion>;

/** The kinds of questions. */
export type DecisionType = "choice" | "score" | "boolean";

/** An option of a question, as it is written. @internal */
export interface DecisionOption {
  readonly name: string;
  /** One line and its continuation lines; undefined if there is none. */
  readonly description: string | undefined;
}

/** A question that was read. @internal */
export interface ReadQuestion {
  readonly name: string;
  readonly type: DecisionType;
  readonly instructions: string | undefined;
  /** In their order: options by name, levels, or true and false. */
  readonly options: readonly DecisionOption[];
}

/** What the names of types mean, of all forms of requests. @internal */
export const DECISION_TYPES: ReadonlyMap<string, DecisionType> = new Map([
  ["choice", "choice"],
  ["score", "score"],
  ["boolean", "boolean"],
  ["noul", "boolean"],
  ["predicate", "boolean"],
  ["yes_no", "boolean"],
]);

/** Options of a choice, and levels of a score. @internal */
export const MOST_OPTIONS = 255;
/** @internal */
export const MOST_LEVELS = 10;

/** @throws INVALID_ARGUMENT, UNKNOWN_KEY: the field is `questions.name.…` @internal */
export function readQuestions(given: unknown): ReadQuestion[] {
  const entries = entriesOf(given, "questions", "questions by name");
  if (entries.length === 0) fail("INVALID_ARGUMENT", "questions", "must have at least one question");
  return entries.map(([name, question]) => readQuestion(name, question, `questions.${name}`));
}

const KEYS = ["type", "instructions", "criteria"];
/** What OpenAI's form has instead. */
const ELSEWHERE: Readonly<Record<string, string>> = { options: "criteria", choices: "criteria", levels: "criteria" };

function readQuestion(name: string, given: unknown, field: string): ReadQuestion {
  if (!isDict(given) || given instanceof Map) {
    if (KEYS.includes(name))
      fail(
        "INVALID_ARGUMENT",
        "questions",
        `must be questions by name (got one with the key ${show(name)})`,
        advise.code("name it: { mine: { type, instructions, criteria } }"),
      );
    return fail("INVALID_ARGUMENT", field, `must be { type, instructions, criteria } (got ${show(given)})`);
  }
  for (const key of Object.keys(given)) checkKey(key, KEYS, field, "a question", ELSEWHERE);
  const type = readType(given["type"], `${field}.type`);
  const instructions = optionalText(given["instructions"], `${field}.instructions`);
  const options = readCriteria[type](given["criteria"] ?? undefined, `${field}.criteria`);
  const isAsked = options.some(({ description }) => description !== undefined);
  if (type === "boolean" && instructions === undefined && !isAsked)
    fail("INVALID_ARGUMENT", `${field}.instructions`, "must be the question, unless there are criteria");
  return { name, type, instructions, options };
}

function readType(given: unknown, field: string): DecisionType {
  const type = typeof given === "string" ? DECISION_TYPES.get(given) : undefined;
  if (type !== undefined) return type;
  return refuseType(given, field, [...DECISION_TYPES.keys()]);
}

/**
 * Refuses a type that isn't one of the names that a form of requests has.
 * @throws INVALID_ARGUMENT @internal
 */
export function refuseType(given: unknown, field: string, names: readonly string[]): never {
  if (given === "box")
    fail(
      "INVALID_ARGUMENT",
      field,
      "box asks for a place in an image, and models here read text only",
      advise.choose({ names }),
    );
  const meant = DECISION_TYPES.get(given as string);
  const same = names.find((name) => meant !== undefined && DECISION_TYPES.get(name) === meant);
  const advised = same === undefined ? undefined : advise.spell({ name: same });
  fail("INVALID_ARGUMENT", field, `must be one of ${names.join(", ")} (got ${show(given)})`, advised);
}

const readCriteria: Record<DecisionType, (given: unknown, field: string) => DecisionOption[]> = {
  choice(given, field) {
    const names = Array.isArray(given) && given.every((item) => typeof item === "string");
    const entries = names
      ? given.map((name) => [name, null] as const)
      : entriesOf(given, field, `2 to ${MOST_OPTIONS} options by name`, "[name, description], or all names alone");
    checkCount(entries.length, MOST_OPTIONS, field, "options");
    const seen = new Set<string>();
    return entries.map(([name, description]) => {
      if (name.trim() === "") fail("INVALID_ARGUMENT", field, "has an option without a name");
      if (seen.has(name)) fail("INVALID_ARGUMENT", field, `has ${show(name)} twice`);
      seen.add(name);
      return { name, description: optionalText(description, `${field}.${name}`) };
    });
  },
  score(given, field) {
    if (!Array.isArray(given))
      return fail("INVALID_ARGUMENT", field, `must be a list of levels, lowest first (got ${show(given)})`);
    checkCount(given.length, MOST_LEVELS, field, "levels");
    return Array.from(given as unknown[], (level, i) => ({
      name: String(i),
      description: requiredText(level, `${field}[${i}]`),
    }));
  },
  boolean(given = {}, field) {
    if (!isDict(given) && !(given instanceof Map))
      return fail("INVALID_ARGUMENT", field, `must be { true, false } (got ${show(given)})`);
    const entries = new Map(entriesOf(given, field, "{ true, false }"));
    for (const key of entries.keys()) checkKey(key, ["true", "false"], field, "the criteria of yes or no");
    return ["true", "false"].map((name) => ({
      name,
      description: optionalText(entries.get(name), `${field}.${name}`),
    }));
  },
};

function checkKey(
  key: string,
  known: readonly string[],
  field: string,
  of: string,
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  if (known.includes(key)) return;
  const advised = Object.hasOwn(elsewhere, key) ? advise.spell({ name: elsewhere[key]! }) : suggestion(key, known);
  fail("UNKNOWN_KEY", `${field}.${key.slice(0, 60)}`, `isn't a key of ${of}`, advised);
}

function checkCount(length: number, most: number, field: string, what: string): void {
  if (length < 2 || length > most) fail("INVALID_ARGUMENT", field, `must have 2 to ${most} ${what} (got ${length})`);
}

function optionalText(given: unknown, field: string): string | undefined {
  return given === undefined || given === null ? undefined : requiredText(given, field);
}

function requiredText(given: unknown, field: string): string {
  const text = textOf(given, field);
  if (text.trim() === "") fail("INVALID_ARGUMENT", field, "must not be empty");
  return text;
}

/** The entries of an object, a Map or a list, in their order. @throws INVALID_ARGUMENT */
function entriesOf(
  given: unknown,
  field: string,
  what: string,
  each = "[name, value]",
): (readonly [string, unknown])[] {
  const list = given instanceof Map ? [...(given as Map<unknown, unknown>)] : given;
  if (isDict(list)) return Object.entries(list);
  if (!Array.isArray(list)) return fail("INVALID_ARGUMENT", field, `must be ${what} (got ${show(given)})`);
  const names = new Set<string>();
  return list.map((entry: unknown, i) => {
    const isEntry = Array.isArray(entry) && entry.length === 2 && typeof entry[0] === "string";
    if (!isEntry) return fail("INVALID_ARGUMENT", `${field}[${i}]`, `must be ${each} (got ${show(entry)})`);
    const [name, value] = entry as [string, unknown];
    if (names.has(name)) fail("INVALID_ARGUMENT", field, `has ${show(name)} twice`);
    names.add(name);
    return [name, value] as const;
  });
}
