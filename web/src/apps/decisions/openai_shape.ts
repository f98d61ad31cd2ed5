// Decisions in OpenAI's shape: POST /v1/decisions.
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { withFieldNames } from "../../core/base/field_names.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import type { DecisionAnswer, Decisions } from "../../runtime/model/decide/answers.js";
import { type DecisionQuestion, refuseType } from "../../runtime/model/decide/questions.js";
import type { ServedModel } from "../serving/served_model.js";
import { type DecisionFields, type DecisionServing, decideOptions } from "../serving/decision_options.js";
import { contentOf, type DecisionContent, type DecisionInputItem, onlyWith, stateOf } from "./openai_input.js";

/** A question of a {@link DecisionRequestFields}. */
export type RequestQuestion =
  | { type: "predicate"; name?: string | null; instructions: DecisionContent }
  | {
      type: "choice";
      name?: string | null;
      instructions: DecisionContent;
      /** 2 to 255. */
      choices: readonly { value: string | boolean; description?: string | null }[];
    }
  | {
      type: "score";
      name?: string | null;
      instructions: DecisionContent;
      /** 2 to 10, lowest first. */
      levels: readonly { label: string; description?: string | null }[];
    };

/** Fields of a request for decisions. Null is the same as no field. */
export interface DecisionRequestFields extends DecisionFields {
  /** Any name: a client has one model. Returned as the model's own name. */
  model?: string | null;
  /** What the questions are about: text, or messages and calls. The content of a single message of the user is read as a text is. */
  input: string | readonly DecisionInputItem[];
  /** 1 to 400. */
  questions: readonly RequestQuestion[];
  /** Names who asks. Changes nothing here. */
  safety_identifier?: string | null;
  /** Changes nothing here: nothing is cached. */
  prompt_cache_key?: string | null;
  /** Changes nothing here: nothing is cached. */
  prompt_cache_options?: object | null;
}

/** An answer of a {@link DecisionList}. */
export type RequestAnswer = {
  name: string | null;
  /** Not OpenAI's: as in `decide()`. */
  label_mass: number;
} & (
  | { type: "predicate"; probability: number }
  | {
      type: "choice";
      choice: string | boolean;
      confidence: number;
      probabilities: { value: string | boolean; probability: number }[];
    }
  | {
      type: "score";
      score: number;
      confidence: number;
      probabilities: { label: string; value: number; probability: number }[];
    }
);

/** Answers in the order of the questions. */
export interface DecisionList {
  model: string;
  answers: RequestAnswer[];
  usage: {
    input_tokens: number;
    input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
    output_tokens: number;
    output_tokens_details: { reasoning_tokens: number };
    total_tokens: number;
  };
}

const CALL = "decisions.create()";

const FIELDS = optionNames<DecisionRequestFields>(CALL, {
  model: true,
  input: true,
  questions: true,
  safety_identifier: true,
  prompt_cache_key: true,
  prompt_cache_options: true,
  permutations: true,
  temperature: true,
});

/** As OpenAI's. */
const MOST_QUESTIONS = 400;

/** A question, and how its answer is written. */
interface Asked {
  readonly question: DecisionQuestion;
  readonly shape: (answer: DecisionAnswer) => Omit<RequestAnswer, "name" | "label_mass">;
  readonly name: string | null;
}

/** @throws UNKNOWN_KEY, INVALID_ARGUMENT; and as model.decide() */
export async function createDecisions(
  model: ServedModel,
  serving: DecisionServing & { readonly name: string },
  given: DecisionRequestFields,
  signal: AbortSignal | undefined,
): Promise<DecisionList> {
  const { input, questions, ...fields } = checkOptions(given, FIELDS);
  const state = stateOf(input);
  if (!Array.isArray(questions) || questions.length === 0 || questions.length > MOST_QUESTIONS)
    fail(
      "INVALID_ARGUMENT",
      "questions",
      `must be a list of 1 to ${MOST_QUESTIONS} questions (got ${show(questions)})`,
    );
  const asked = Array.from(questions, (question, i) => readQuestion(question, `questions[${i}]`));
  const named = asked.map(({ question }, i) => [String(i), question] as const);
  const { answers, usage } = await withFieldNames(fieldName(asked), () =>
    model.decide(state, named, decideOptions(fields, serving, signal)),
  );
  return {
    model: serving.name,
    answers: asked.map(({ name, shape }, i) => {
      const answer = answers[i]!;
      return { ...shape(answer), name, label_mass: answer.label_mass } as RequestAnswer;
    }),
    usage: usageOf(usage),
  };
}

function usageOf({ input_tokens, output_tokens }: Decisions["usage"]): DecisionList["usage"] {
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output_tokens,
  };
}

/** From the fields of decide() to those of the request. */
const fieldName =
  (asked: readonly Asked[]) =>
  (field: string): string => {
    if (field === "state") return "input";
    const [, index, rest = ""] = /^questions\.(\d+)(.*)$/s.exec(field) ?? [];
    if (index === undefined) return field;
    const list =
      { choice: "choices", score: "levels" }[asked[Number(index)]!.question.type as string] ?? "instructions";
    return `questions[${index}]${rest.replace(/^\.criteria\b/, `.${list}`)}`;
  };

const KEYS = { predicate: [], choice: ["choices"], score: ["levels"] };

function readQuestion(given: unknown, field: string): Asked {
  if (!isDict(given)) return fail("INVALID_ARGUMENT", field, `must be a question (got ${show(given)})`);
  const { type } = given;
  if (typeof type !== "string" || !Object.hasOwn(KEYS, type))
    return refuseType(type, `${field}.type`, Object.keys(KEYS));
  const names = ["type", "name", "instructions", ...KEYS[type as keyof typeof KEYS]];
  const { name, instructions, choices, levels } = known(given, names, field);
  if (name !== undefined && name !== null && typeof name !== "string")
    fail("INVALID_ARGUMENT", `${field}.name`, `must be text (got ${show(name)})`);
  const shared = { name: (name as string | undefined) ?? null };
  const question = { instructions: contentOf(instructions, `${field}.instructions`) };
  if (type === "predicate")
    return {
      ...shared,
      question: { type: "boolean", ...question },
      shape: (answer) => ({ type, probability: (answer as Of<"boolean">).probability }),
    };
  return type === "choice"
    ? { ...shared, ...readChoices(choices, `${field}.choices`, question) }
    : { ...shared, ...readLevels(levels, `${field}.levels`, question) };
}

type Of<Type extends DecisionAnswer["type"]> = Extract<DecisionAnswer, { type: Type }>;
type Shared = Pick<DecisionQuestion, "instructions">;

/** A string and a boolean with the same text are different values. */
function readChoices(given: unknown, field: string, shared: Shared): Omit<Asked, "name"> {
  const values = listed(given, field, ["value", "description"]).map(({ value, description }, i) => {
    if (typeof value !== "string" && typeof value !== "boolean")
      fail("INVALID_ARGUMENT", `${field}[${i}].value`, `must be text, true or false (got ${show(value)})`);
    return { value: value, description: optionalText(description, `${field}[${i}].description`) };
  });
  const isTaken = (text: string): boolean => values.some(({ value }) => value === (text === "true"));
  const nameOf = (value: string | boolean): string =>
    typeof value === "string" && ["true", "false"].includes(value) && isTaken(value)
      ? JSON.stringify(value)
      : String(value);
  const criteria = values.map(({ value, description }) => [nameOf(value), description ?? null] as const);
  return {
    question: { type: "choice", criteria, ...shared },
    shape(answer) {
      const { choice, confidence, probabilities } = answer as Of<"choice">;
      return {
        type: "choice",
        choice: values.find(({ value }) => nameOf(value) === choice)!.value,
        confidence,
        probabilities: values.map(({ value }) => ({ value, probability: probabilities[nameOf(value)]! })),
      };
    },
  };
}

function readLevels(given: unknown, field: string, shared: Shared): Omit<Asked, "name"> {
  const levels = listed(given, field, ["label", "description"]).map(({ label, description }, i) => {
    if (typeof label !== "string" || label.trim() === "")
      fail("INVALID_ARGUMENT", `${field}[${i}].label`, `must be text that isn't empty (got ${show(label)})`);
    return { label: label, description: optionalText(description, `${field}[${i}].description`) };
  });
  const criteria = levels.map(({ label, description }) =>
    description === undefined ? label : `${label} - ${description}`,
  );
  return {
    question: { type: "score", criteria, ...shared },
    shape(answer) {
      const { score, confidence, probabilities } = answer as Of<"score">;
      const all = levels.map(({ label }, value) => ({ label, value, probability: probabilities[value]! }));
      return { type: "score", score, confidence, probabilities: all };
    },
  };
}

function listed(given: unknown, field: string, names: readonly string[]): Record<string, unknown>[] {
  if (!Array.isArray(given)) return fail("INVALID_ARGUMENT", field, `must be a list (got ${show(given)})`);
  return Array.from(given as unknown[], (item, i) => {
    if (isDict(item)) return known(item, names, `${field}[${i}]`);
    return fail("INVALID_ARGUMENT", `${field}[${i}]`, `must be { ${names.join(", ")} } (got ${show(item)})`);
  });
}

function optionalText(given: unknown, field: string): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== "string") fail("INVALID_ARGUMENT", field, `must be text (got ${show(given)})`);
  return given.trim() === "" ? undefined : given;
}

const known = (given: Record<string, unknown>, names: readonly string[], field: string): Record<string, unknown> =>
  onlyWith(given, names, field, CALL);
