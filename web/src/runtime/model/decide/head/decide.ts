// Model.decide() of a decision checkpoint: its head scores each option, in one pass over each prompt.
import * as advise from "../../../../core/base/advice.js";
import { fail } from "../../../../core/base/errors.js";
import type { OnWarning } from "../../../text/chat/problems.js";
import { printWarning } from "../../../text/chat/problems.js";
import type { Tokenizer } from "../../../text/tokenizer.js";
import type { WholeTextsCore } from "../../embed/whole_texts.js";
import { readAdapters } from "../../run/adapters_in_use.js";
import { EventLoopYielder } from "../../run/event_loop.js";
import type { ModelCore } from "../../run/model_core.js";
import { TextReader } from "../../run/text_reader.js";
import { answerOf, type DecisionAnswer, type Decisions } from "../answers.js";
import type { DecideOptions } from "../options.js";
import { ordersOf } from "../orders.js";
import { ASKED } from "../prompt_text.js";
import { readQuestions, type ReadQuestion } from "../questions.js";
import { type Distribution, distributionOf, meanOf } from "../readout.js";
import { readDecideOptions } from "../settings.js";
import { checkLength, readState } from "../state.js";
import type { DecisionHead, MarkedTokens } from "./head.js";
import { controlsOf, OPTION_TOKENS, PromptWriter } from "./prompt.js";
import { QUESTION_TYPES } from "./row.js";

/** What it needs of a model. @internal */
export interface HeadedModel {
  readonly info: { readonly name: string; readonly contextLength: number };
  readonly tokenizer: Tokenizer;
  readonly core: ModelCore;
  readonly texts: WholeTextsCore;
  readonly head: DecisionHead;
  readonly onWarning: OnWarning;
}

/** A question with its options in one order. */
interface Asked extends MarkedTokens {
  readonly question: ReadQuestion;
  readonly order: readonly number[];
}

/** Tokens of a batch, unless a single prompt has more. */
const BATCH_TOKENS = 256;

/** @internal */
export async function decideByHead(
  model: HeadedModel,
  state: unknown,
  questions: unknown,
  options: DecideOptions | undefined,
): Promise<Decisions> {
  const { core, head } = model;
  const settings = readDecideOptions(options, model.info.contextLength, core.plan.config);
  const { permutations, temperature, contextLength, signal } = settings;
  const { onWarning = model.onWarning, ...chat } = settings.chat;
  for (const [name, value] of Object.entries(chat) as [string, unknown][])
    if (value !== undefined)
      fail(
        "INVALID_ARGUMENT",
        name,
        "has no meaning: a decision checkpoint has no chat template",
        advise.other("leave it out"),
      );
  const text = readState(state);
  const read = readQuestions(questions);
  const adapters = readAdapters(settings.adapters, core);
  core.checkAlive();
  signal?.throwIfAborted();
  const { form, maxHeadTokens, mostOptions, temperature: ofHead } = head.settings;
  const controls = controlsOf(head.files, model.tokenizer);
  const writer = new PromptWriter(
    form,
    maxHeadTokens,
    controls,
    model.tokenizer,
    new TextReader(model.tokenizer, signal),
  );
  const asked: Asked[] = [];
  for (const question of read) {
    const field = `questions.${question.name}`;
    if (question.options.length > mostOptions)
      fail(
        "INVALID_ARGUMENT",
        `${field}.criteria`,
        `must have 2 to ${mostOptions} options for this model (got ${question.options.length})`,
      );
    const instructions = question.instructions ?? ASKED[question.type];
    let isCut = false;
    for (const order of ordersOf(question.options.length, permutations)) {
      const own = question.type === "boolean" ? order.map((option) => 1 - option) : order; // heads are trained with false first
      const prompt = await writer.write({ ...question, instructions }, own, text);
      checkLength(prompt.tokens.length, contextLength, question.name);
      isCut ||= prompt.isCut;
      asked.push({ ...prompt, question, order: own, type: QUESTION_TYPES.indexOf(question.type) });
    }
    if (isCut)
      (onWarning ?? printWarning)(
        `${field}: the question and its options are cut to ${maxHeadTokens} tokens and each option to at most ${OPTION_TOKENS}, as this model was trained: shorten them`,
      );
  }
  const scores = await scoresOf(model, asked, adapters, signal);
  const distributions = asked.map(({ question, order }, i): Distribution => {
    const own = question.options.map((_, option) => [scores[i]![order.indexOf(option)]!]);
    const { probabilities } = distributionOf(own, temperature * ofHead(question.type, own.length));
    return { probabilities, mass: 1 }; // a head can't answer anything else
  });
  const answers = read.map((question): [string, DecisionAnswer] => {
    const own = distributions.filter((_, i) => asked[i]!.question === question);
    return [question.name, answerOf(question, meanOf(own))];
  });
  const input_tokens = asked.reduce((total, { tokens }) => total + tokens.length, 0);
  return { answers: Object.fromEntries(answers), usage: { input_tokens, output_tokens: 0 } };
}

async function scoresOf(
  { core, texts, head }: HeadedModel,
  asked: readonly Asked[],
  adapters: ReturnType<typeof readAdapters>,
  signal: AbortSignal | undefined,
): Promise<number[][]> {
  const scores: number[][] = [];
  const yielder = new EventLoopYielder();
  for (let first = 0; first < asked.length;) {
    signal?.throwIfAborted();
    let last = first;
    let tokens = 0;
    do tokens += asked[last++]!.tokens.length;
    while (last < asked.length && tokens + asked[last]!.tokens.length <= BATCH_TOKENS);
    scores.push(...head.scores({ core, texts }, asked.slice(first, last), adapters));
    first = last;
    await yielder.yieldIfDue();
  }
  signal?.throwIfAborted();
  if (!scores.flat().every(Number.isFinite))
    fail("INVALID_FILE", "tensors", "produce scores that are not finite: the weights are damaged or too large");
  return scores;
}
