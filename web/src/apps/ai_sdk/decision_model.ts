// The AI SDK's model of decisions: `doDecide()` over `model.decide()`. The SDK calls this experimental, and may change it in patch releases.
import type {
  Experimental_DecisionModelV4,
  Experimental_DecisionModelV4Answer,
  Experimental_DecisionModelV4CallOptions,
  Experimental_DecisionModelV4StatePart,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { fail } from "../../core/base/errors.js";
import { fieldNames, withFieldNames } from "../../core/base/field_names.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import type { DecisionAnswer } from "../../runtime/model/decide/answers.js";
import { type DecisionText, linesOf } from "../../runtime/model/decide/decision_text.js";
import type { DecideOptions } from "../../runtime/model/decide/options.js";
import type { DecisionQuestions } from "../../runtime/model/decide/questions.js";
import { decideOptions } from "../serving/decision_options.js";
import { OWN, ownNames } from "./own_names.js";
import type { ProvidedModel } from "./provided_model.js";
import { withSdkWords } from "./sdk_words.js";

/** What a call can set in `providerOptions.ropewalk`: options of `decide()`. */
export type RopewalkDecisionOptions = Pick<DecideOptions, "permutations" | "temperature" | "variables">;

const DECIDE = optionNames<RopewalkDecisionOptions>(OWN, { permutations: true, temperature: true, variables: true });
const NAMES = fieldNames(ownNames(DECIDE));

/** Needs a chat template. */
export function decisionModel(provided: ProvidedModel, modelId: string | undefined): Experimental_DecisionModelV4 {
  return {
    specificationVersion: "v4",
    provider: "ropewalk",
    get modelId() {
      return modelId ?? provided.name;
    },
    supportedQuestionTypes: ["choice", "score", "boolean"],
    async doDecide(call) {
      const { model, adapting, chats } = await provided.open();
      const options: DecideOptions = {
        ...decideOptions({}, { adapting, chats }, call.abortSignal),
        ...checkOptions<RopewalkDecisionOptions>(call.providerOptions?.["ropewalk"], DECIDE, OWN),
      };
      const { answers, usage } = await withSdkWords(() =>
        withFieldNames(NAMES, () => model.decide(stateOf(call.state), call.questions as DecisionQuestions, options)),
      );
      const entries = Object.entries(answers);
      const each = (of: (answer: DecisionAnswer) => number): Record<string, number> =>
        Object.fromEntries(entries.map(([name, answer]) => [name, of(answer)]));
      return {
        answers: Object.fromEntries(entries.map(([name, answer]) => [name, answerOf(answer)])),
        usage: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens },
        warnings: warningsOf(call),
        providerMetadata: {
          ropewalk: {
            confidence: each(({ confidence }) => confidence),
            labelMass: each(({ label_mass }) => label_mass),
          },
        },
        response: { modelId: provided.name },
      };
    },
  };
}

function answerOf(answer: DecisionAnswer): Experimental_DecisionModelV4Answer {
  const { type } = answer;
  if (type === "choice") return { type, choice: answer.choice, probabilities: answer.probabilities };
  if (type === "score") {
    const probabilities = Object.fromEntries(answer.probabilities.map((p, level) => [String(level), p]));
    return { type, score: answer.score, probabilities };
  }
  return { type, probability: answer.probability };
}

/** @throws INVALID_ARGUMENT: a file */
function stateOf(parts: readonly Experimental_DecisionModelV4StatePart[]): DecisionText {
  const read = parts.map((part, i): DecisionText => {
    if (part.type === "text") return part.text;
    if (part.type !== "json")
      return fail("INVALID_ARGUMENT", `state[${i}]`, "is a file, and models here read text and JSON only");
    const { value } = part;
    return typeof value === "object" && value !== null ? (value as DecisionText) : JSON.stringify(value);
  });
  return linesOf(read, (i) => `state[${i}]`);
}

/** What a model that generates nothing has no use for. */
function warningsOf({ maxOutputTokens, reasoning }: Experimental_DecisionModelV4CallOptions): SharedV4Warning[] {
  const warnings: SharedV4Warning[] = [];
  if (maxOutputTokens !== undefined)
    warnings.push({ type: "unsupported", feature: "maxOutputTokens", details: "decisions generate no tokens" });
  if (reasoning !== undefined && reasoning !== "none" && reasoning !== "provider-default")
    warnings.push({ type: "unsupported", feature: "reasoning", details: "decisions are read without thinking" });
  return warnings;
}
