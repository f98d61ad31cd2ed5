// Answers typed questions about a state without generating: a probability for every option, from the logits at the place of the answer.
import { RopewalkError, changed } from "../../../core/base/errors.js";
import type { OnWarning } from "../../text/chat/problems.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { readAdapters } from "../run/adapters_in_use.js";
import type { CacheSettings, ModelCore } from "../run/model_core.js";
import { TextReader } from "../run/text_reader.js";
import { AnswerPlace, type RenderPrompt } from "./answer_place.js";
import { answerOf, type DecisionAnswer, type Decisions } from "./answers.js";
import { type Labels, LabelFinder } from "./labels.js";
import type { DecideOptions } from "./options.js";
import { ordersOf } from "./orders.js";
import { questionText, stateText } from "./prompt_text.js";
import { readQuestions, type ReadQuestion } from "./questions.js";
import { type Distribution, distributionOf, meanOf } from "./readout.js";
import { readDecideOptions } from "./settings.js";
import { readSequences, type Sequence } from "./sequences.js";
import { checkLength, readState } from "./state.js";

/** What decide() needs of a model. @internal */
export interface DecidingModel {
  readonly info: { readonly name: string; readonly contextLength: number };
  readonly tokenizer: Tokenizer;
  readonly render: RenderPrompt;
  readonly core: ModelCore;
  readonly cacheSettings: CacheSettings;
  readonly onWarning: OnWarning;
}

/** A question with its options in one order. */
interface Asked {
  readonly question: ReadQuestion;
  readonly prompt: Int32Array;
  /** The tokens of the labels of each option. */
  readonly labels: readonly (readonly Int32Array[])[];
}

/** Model.decide(). @internal */
export async function decide(
  model: DecidingModel,
  state: unknown,
  questions: unknown,
  options: DecideOptions | undefined,
): Promise<Decisions> {
  const { core } = model;
  const settings = readDecideOptions(options, model.info.contextLength, core.plan.config);
  const { permutations, temperature, contextLength, signal, chat } = settings;
  const text = readState(state);
  const read = readQuestions(questions);
  const adapters = readAdapters(settings.adapters, core);
  core.checkAlive();
  signal?.throwIfAborted();
  const onWarning = chat.onWarning ?? model.onWarning;
  const place = await AnswerPlace.of(model.render, { ...chat, ...(onWarning && { onWarning }) });
  const finder = new LabelFinder(model, place, new TextReader(model.tokenizer, signal));
  const asked: Asked[] = [];
  for (const question of read)
    for (const order of ordersOf(question.options.length, permutations))
      asked.push(await ask(question, order, text, place, finder));
  for (const { question, prompt, labels } of asked) {
    const longest = Math.max(...labels.flat().map(({ length }) => length));
    checkLength(prompt.length + longest - 1, contextLength, question.name);
  }

  const sequences = asked.map(sequencesOf);
  const results = await readSequences(sequences.flat(), {
    core,
    cacheSettings: model.cacheSettings,
    adapters,
    signal,
  });
  let from = 0;
  const distributions = asked.map(({ labels }, i) => {
    const own = results.logprobs.slice(from, (from += sequences[i]!.length));
    return distributionOf(labelLogprobs(labels, asked[i]!.prompt.length, sequences[i]!, own), temperature);
  });
  const answers = read.map((question): [string, DecisionAnswer] => {
    const own: Distribution[] = distributions.filter((_, i) => asked[i]!.question === question);
    return [question.name, answerOf(question, meanOf(own))];
  });
  return { answers: Object.fromEntries(answers), usage: { input_tokens: results.read, output_tokens: 0 } };
}

async function ask(
  question: ReadQuestion,
  order: readonly number[],
  state: string,
  place: AnswerPlace,
  finder: LabelFinder,
): Promise<Asked> {
  const labels = await finder.for(question);
  // letters and codes are those of places, numbers and words those of options
  const labelOf = (option: number): Labels["list"][number] =>
    labels.list[question.type === "choice" ? order.indexOf(option) : option]!;
  const text = questionText(question, order, (option) => labelOf(option).text, labels.kind);
  const field = `questions.${question.name}`;
  try {
    const prompt = await finder.promptTokens(await place.prompt(stateText(state) + text), labels, field);
    return { question, prompt, labels: question.options.map((_, option) => labelOf(option).tokens) };
  } catch (error) {
    // the messages of the chat are made here
    if (!(error instanceof RopewalkError) || !error.field.startsWith("messages")) throw error;
    throw changed(error, { field, cause: error });
  }
}

/** The prompt, and the prompt with each beginning of a label of several tokens. */
function sequencesOf({ prompt, labels }: Asked): Sequence[] {
  const nodes = new Map<string, { before: Int32Array; next: Set<number> }>();
  for (const label of labels.flat())
    label.forEach((token, i) => {
      const before = label.subarray(0, i);
      const key = before.join();
      const node = nodes.get(key) ?? { before, next: new Set() };
      nodes.set(key, node);
      node.next.add(token);
    });
  return Array.from(nodes.values(), ({ before, next }) => ({
    tokens: Int32Array.from([...prompt, ...before]),
    next: [...next],
  }));
}

/** ln p of the labels of each option: of one token, or the sum of those of its tokens. */
function labelLogprobs(
  labels: Asked["labels"],
  promptLength: number,
  sequences: readonly Sequence[],
  logprobs: readonly (readonly number[])[],
): number[][] {
  const found = new Map<string, number>();
  sequences.forEach(({ tokens, next }, i) => {
    const before = tokens.subarray(promptLength);
    next.forEach((token, j) => found.set([...before, token].join(), logprobs[i]![j]!));
  });
  return labels.map((own) =>
    own.map((label) => label.reduce((sum, _, i) => sum + found.get(label.subarray(0, i + 1).join())!, 0)),
  );
}
