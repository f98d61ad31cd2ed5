// The place of the answer: what a chat template writes before it, with thinking off.
import { fail, RopewalkError } from "../../../core/base/errors.js";
import type { ChatMessage, ChatOptions, ChatPrompt, PromptOptions, PromptPiece } from "../../text/chat_template.js";
import { checkAsked } from "../../text/chat/problems.js";
import { withWarnings } from "../../text/chat/with_warnings.js";

/** The options of rendering a question. @internal */
export type PlaceOptions = Pick<ChatOptions, "templateName" | "variables" | "now" | "onWarning">;

/** Renders a chat with the model's template. @internal */
export type RenderPrompt = (messages: readonly ChatMessage[], options: PromptOptions) => Promise<ChatPrompt>;

/** A prompt up to the answer. @internal */
export type AnswerPrompt = string | readonly PromptPiece[];

/** Variables by which templates turn thinking off. A template that doesn't read one ignores it. */
const WITHOUT_THINKING = { enable_thinking: false, thinking: false, reasoning: false, thinking_budget: 0 };

/** Words that no template has. */
const [ASKED, ANSWERED] = ["zqasks", "zqanswers"];

/** A thought that a template opens, such as `<think>`. */
const THOUGHT = /<(\w*:?think(?:ing)?)>(?![^]*<\/\1>)/;

/** Renders the prompts of questions with the model's chat template. @internal */
export class AnswerPlace {
  readonly #renderPrompt: RenderPrompt;
  readonly #options: PlaceOptions;
  /** What is written between the prompt of a chat and the answer. */
  #before = "";
  /** What an answer begins with: a space, if the template writes one and it is a part of the answer's first token. */
  lead = "";
  /** What the prompt of a chat ends with that an answer doesn't follow. */
  #cut = "";

  private constructor(render: RenderPrompt, options: PlaceOptions) {
    this.#renderPrompt = render;
    this.#options = options;
  }

  /** @throws UNSUPPORTED_MODEL: the model has no chat template; INVALID_ARGUMENT (variables), and as renderChat() */
  static async of(render: RenderPrompt, options: PlaceOptions): Promise<AnswerPlace> {
    const place = new AnswerPlace(render, { ...options, variables: withoutThinking(options.variables) });
    await place.#find(options.variables ?? {});
    return place;
  }

  /** The prompt of a question, whose control tokens are text. @throws INVALID_ARGUMENT (messages) */
  async prompt(content: string): Promise<AnswerPrompt> {
    const { text, pieces } = await this.#render([{ role: "user", content }], { parseSpecial: false });
    return withEnd(this.#withoutCut(pieces ?? text), this.#before);
  }

  /** Templates write an answer where it follows the prompt, most often. */
  async #find(variables: object): Promise<void> {
    const asked: ChatMessage = { role: "user", content: ASKED };
    const { text: prompt } = await this.#render([asked]);
    const answered = await this.#render([asked, { role: "assistant", content: ANSWERED }], {
      addGenerationPrompt: false,
    }).then(({ text }) => text.split(ANSWERED)[0]!, unlessBroken);
    if (answered?.startsWith(prompt)) this.#before = answered.slice(prompt.length);
    else if (answered?.includes(ASKED)) {
      const [own, past] = [afterAsked(prompt), afterAsked(answered)];
      if (!THOUGHT.test(own)) this.#cut = await this.#wordsOfThought(prompt, own, past, variables);
      if (this.#cut === "") this.#before = markerOf(own, past);
    }
    const end = afterAsked(prompt) + this.#before;
    const [, thought] = THOUGHT.exec(end) ?? [];
    if (thought !== undefined && this.#cut === "")
      this.#before += `${end.endsWith("\n") ? "\n" : "\n\n"}</${thought}>\n\n`;
    if (!this.#before.endsWith(" ")) return;
    this.#before = this.#before.slice(0, -1);
    this.lead = " ";
  }

  /** Words of its own in which a template thinks, whatever it is told. An answer is written as those of past turns are, without them. */
  async #wordsOfThought(prompt: string, own: string, past: string, variables: object): Promise<string> {
    const { text: thinking } = await this.#render([{ role: "user", content: ASKED }], { variables: { ...variables } });
    const words = own.startsWith(past) ? own.slice(past.length) : "";
    return thinking === prompt && !/[<>[\]|]/.test(words) ? words : "";
  }

  #withoutCut(prompt: AnswerPrompt): AnswerPrompt {
    const cut = this.#cut;
    if (cut === "") return prompt;
    if (typeof prompt === "string") return prompt.slice(0, prompt.length - cut.length);
    const last = prompt[prompt.length - 1]!;
    return [...prompt.slice(0, -1), { ...last, text: last.text.slice(0, last.text.length - cut.length) }];
  }

  async #render(
    messages: readonly ChatMessage[],
    more: Pick<ChatOptions, "addGenerationPrompt" | "parseSpecial" | "variables"> = {},
  ): Promise<ChatPrompt> {
    return withWarnings({ ...this.#options, ...more }, async (given) => {
      const rendered = await this.#renderPrompt(messages, given);
      checkAsked(rendered.problems);
      return rendered;
    });
  }
}

/** A prompt with text after it, which may have control tokens. @internal */
export function withEnd(prompt: AnswerPrompt, end: string): AnswerPrompt {
  if (end === "") return prompt;
  if (typeof prompt === "string") return prompt + end;
  const last = prompt[prompt.length - 1]!;
  if (last.isPlain) return [...prompt, { text: end, isPlain: false }];
  return [...prompt.slice(0, -1), { ...last, text: last.text + end }];
}

const afterAsked = (text: string): string => text.slice(text.indexOf(ASKED) + ASKED.length);

/** The control token that past answers follow and a prompt without thinking doesn't end with, such as Cohere's `<|START_RESPONSE|>`. */
function markerOf(own: string, past: string): string {
  const [marker = ""] = /<[^<>]+>\s*$/.exec(past) ?? [];
  return own.startsWith(past) || own.trimEnd().endsWith(marker.trimEnd()) ? "" : marker;
}

/** A template may refuse an answer. */
function unlessBroken(error: unknown): undefined {
  if (!(error instanceof RopewalkError)) throw error;
  return undefined;
}

/** @throws INVALID_ARGUMENT: variables that turn thinking on */
function withoutThinking(given: PlaceOptions["variables"] = {}): NonNullable<PlaceOptions["variables"]> {
  for (const name of Object.keys(WITHOUT_THINKING)) {
    const value = given[name];
    if (value === undefined || value === false || value === 0) continue;
    fail("INVALID_ARGUMENT", `variables.${name}`, "can't turn thinking on: an answer is one label, read at once");
  }
  return { ...WITHOUT_THINKING, ...given };
}
