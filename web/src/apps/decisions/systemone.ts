// Decisions in TypeSafe's shape, which llama.cpp, vLLM, SGLang and Ollama have too: POST /v1/systemone.
import { fail, RopewalkError } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import { suggestion } from "../../core/base/options.js";
import type { DecisionAnswer } from "../../runtime/model/decide/answers.js";
import type { DecisionQuestion, DecisionQuestions, DecisionText } from "../../runtime/model/decide/questions.js";
import type { ServedModel } from "../serving/served_model.js";
import { type DecisionServing, decideOptions } from "../serving/decision_options.js";
import { optionNamesOf, ownValue } from "./ordered_answers.js";

const FIELDS = ["model", "state", "questions", "permutations", "temperature"];

/**
 * Answers a request, whose objects are Maps. Those of the response are Maps too where their keys can be integers.
 * @throws UNKNOWN_KEY, INVALID_ARGUMENT; and as model.decide()
 */
export async function createSystemOne(
  model: ServedModel,
  serving: DecisionServing & { readonly name: string },
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<object> {
  if (!(body instanceof Map)) return fail("INVALID_ARGUMENT", "body", `must be an object (got ${show(body)})`);
  for (const name of body.keys() as Iterable<string>) {
    if (name === "assets") fail("INVALID_ARGUMENT", name, "has images, and models here read text only");
    if (!FIELDS.includes(name)) fail("UNKNOWN_KEY", name, "isn't a field of a request", suggestion(name, FIELDS));
  }
  const named = body.get("model") as unknown;
  if (typeof named !== "string") fail("INVALID_ARGUMENT", "model", `must be the name of a model (got ${show(named)})`);
  const questions = questionsOf(body.get("questions")) as DecisionQuestions;
  const fields = { permutations: body.get("permutations") as number, temperature: body.get("temperature") as number };
  const { answers, usage } = await model.decide(
    body.get("state") as DecisionText,
    questions,
    decideOptions(fields, serving, signal),
  );
  const options = optionNamesOf(questions);
  const written = (questions as readonly (readonly [string, DecisionQuestion])[]).map(([name, question]) => {
    const answer = ownValue<DecisionAnswer>(answers, name);
    return [name, shapeOf(answer, question, options.get(name)!)] as const;
  });
  return { model: serving.name, answers: new Map(written), usage };
}

/** Questions by name that were read with Maps, as a list of entries: each question is an object with known keys, and the Maps in it have names. */
export function questionsOf(questions: unknown): unknown {
  const all = questions instanceof Map ? [...(questions as Map<string, unknown>)] : questions;
  if (!Array.isArray(all)) return questions;
  return (all as unknown[]).map((entry) => (Array.isArray(entry) ? entry.map(withKeys) : entry));
}

const withKeys = (value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value as Map<string, unknown>) : value;

function shapeOf(answer: DecisionAnswer, { criteria }: DecisionQuestion, names: readonly string[]): object {
  const { type, confidence, label_mass: x_label_mass } = answer; // the name that SGLang has for it
  if (type === "boolean") return { type: "noul", noul: answer.probability, x_label_mass };
  if (type === "choice") {
    const probabilities = new Map(names.map((name) => [name, ownValue(answer.probabilities, name)]));
    return { type, choice: answer.choice, confidence, probabilities, x_label_mass };
  }
  const byLevel = <Value>(values: readonly Value[]): Map<string, Value> =>
    new Map(values.map((value, level) => [String(level), value]));
  const legend = byLevel(criteria as readonly DecisionText[]);
  return { type, score: answer.score, confidence, legend, probabilities: byLevel(answer.probabilities), x_label_mass };
}

/** What a request is refused with, as by TypeSafe and vLLM: 422 with the place, 501 if the model can't be asked. Undefined for other errors. */
export function systemOneRefusal(error: unknown, body: unknown): { status: 422 | 501; body: object } | undefined {
  if (!(error instanceof RopewalkError)) return undefined;
  const { code, field, message: msg } = error;
  if (code === "UNSUPPORTED_MODEL") return { status: 501, body: { detail: msg } };
  if (!["INVALID_ARGUMENT", "UNKNOWN_KEY", "CACHE_FULL"].includes(code)) return undefined;
  const { loc, input } = placeOf(field, body);
  const type = code === "CACHE_FULL" ? "context_length_exceeded" : code.toLowerCase();
  return { status: 422, body: { detail: [{ loc: ["body", ...loc], msg, type, input: input ?? null }] } };
}

/** The keys on the way to a field, and what is there. Names of questions and options can have points in them. */
function placeOf(field: string, body: unknown): { loc: (string | number)[]; input: unknown } {
  const loc: (string | number)[] = [];
  let [rest, value] = [field === "body" ? "" : field, body];
  while (rest !== "") {
    const index = /^\[(\d+)\]/.exec(rest);
    const keys = value instanceof Map ? [...(value as Map<string, unknown>).keys()] : [];
    rest = rest.replace(/^\./, "");
    const known = keys.filter(
      (key) => key !== "" && rest.startsWith(key) && /^(?:$|[.[])/.test(rest.slice(key.length)),
    );
    const key = known.sort((a, b) => b.length - a.length)[0] ?? /^[^.[]*/.exec(rest)![0];
    if (index !== null) {
      loc.push(Number(index[1]));
      value = Array.isArray(value) ? (value as unknown[])[Number(index[1])] : undefined;
      rest = rest.slice(index[0].length);
    } else {
      loc.push(key);
      value = value instanceof Map ? (value as Map<string, unknown>).get(key) : undefined;
      rest = key === "" ? "" : rest.slice(key.length);
    }
  }
  return { loc, input: value };
}
