// The prompt of a decision checkpoint: [CLS] question [SEP] ([MASK] option)* [SEP] state [SEP], cut to what the head was trained with.
// Sources: laya 0.4.15, common.py, build_head(); llama.cpp, tools/server/server-decision.cpp, fill_task_laya().
import * as advise from "../../../../core/base/advice.js";
import { isDict } from "../../../../core/base/dict.js";
import { fail } from "../../../../core/base/errors.js";
import { fieldOf } from "../../../files/errors.js";
import type { ModelFiles } from "../../../files/model_files.js";
import type { Tokenizer } from "../../../text/tokenizer.js";
import type { TextReader } from "../../run/text_reader.js";
import type { DecisionOption, ReadQuestion } from "../questions.js";
import { type PromptForm, TYPE_NAMES } from "./settings.js";
import { type PromptItem, renderItems } from "./template.js";

/** A question whose instructions are written. @internal */
export type AskedQuestion = ReadQuestion & { readonly instructions: string };

/** Control tokens, by their texts. @internal */
export interface Controls {
  readonly begin: string;
  readonly separator: string;
  /** The token before each option, which its score is read at. */
  readonly marker: string;
}

/** @internal */
export interface MarkedPrompt {
  readonly tokens: Int32Array;
  /** Places of the tokens before the options, in the order in which they are listed. */
  readonly markers: readonly number[];
  /** Whether the question or its options were cut. */
  readonly isCut: boolean;
}

/** Tokens of an option without its marker. @internal */
export const OPTION_TOKENS = 48;
/** Tokens that are left for a question before its options are cut evenly. */
const LEAST_LEFT = 16;
const [LEAST_OPTION, LEAST_QUESTION] = [4, 8];

/** The texts of a prompt between its control tokens. */
interface PromptTexts {
  readonly question: string;
  readonly options: readonly string[];
  readonly state: string;
}

/** @internal */
export class PromptWriter {
  readonly #form: PromptForm;
  readonly #maxHeadTokens: number;
  readonly #controls: Controls;
  readonly #tokenizer: Tokenizer;
  readonly #reader: TextReader;
  readonly #read = new Map<string, Int32Array>();

  constructor(form: PromptForm, maxHeadTokens: number, controls: Controls, tokenizer: Tokenizer, reader: TextReader) {
    this.#form = form;
    this.#maxHeadTokens = maxHeadTokens;
    this.#controls = controls;
    this.#tokenizer = tokenizer;
    this.#reader = reader;
  }

  /** @param order - the options as they are listed @throws INVALID_FILE, UNSUPPORTED_MODEL (the template) */
  async write(question: AskedQuestion, order: readonly number[], state: string): Promise<MarkedPrompt> {
    const texts = this.#texts(this.#clean(question), order, this.#withoutMarker(state));
    const [begin, separator, marker] = [this.#controls.begin, this.#controls.separator, this.#controls.marker].map(
      (token) => this.#tokenizer.idOf(token)!,
    ) as [number, number, number];
    const asked = await this.#encode(texts.question);
    const whole: Int32Array[] = [];
    for (const text of texts.options) whole.push(await this.#encode(text));
    const budget = this.#maxHeadTokens;
    // the marker counts among the tokens of an option
    const lengths = whole.map(({ length }) => 1 + Math.min(length, OPTION_TOKENS));
    const isTight = budget - sum(lengths) < LEAST_LEFT;
    const most = isTight ? Math.max(LEAST_OPTION, Math.floor((budget - LEAST_LEFT) / lengths.length)) : Infinity;
    const options = whole.map((tokens, i) => tokens.subarray(0, Math.min(lengths[i]!, most) - 1));
    const left = budget - sum(options.map(({ length }) => 1 + length));
    const kept = asked.subarray(0, Math.max(LEAST_QUESTION, left));
    const tokens = [begin, ...kept, separator];
    const markers = options.map((option) => {
      const place = tokens.length;
      tokens.push(marker, ...option);
      return place;
    });
    const isCut = kept.length < asked.length || options.some(({ length }, i) => length < whole[i]!.length);
    return {
      tokens: Int32Array.from([...tokens, separator, ...(await this.#encode(texts.state)), separator]),
      markers,
      isCut,
    };
  }

  #texts(question: AskedQuestion, order: readonly number[], state: string): PromptTexts {
    if (this.#form.kind === "template") return this.#fromTemplate(this.#form.source, question, order, state);
    const optionText = this.#form.kind === "laya" ? layaOption : juliaOption;
    return {
      question: `${TYPE_NAMES[question.type]} question: ${question.instructions}`,
      options: order.map((option) => ` ${optionText(question, question.options[option]!)}`),
      state,
    };
  }

  #fromTemplate(source: string, question: AskedQuestion, order: readonly number[], state: string): PromptTexts {
    const { begin, separator, marker } = this.#controls;
    const items = renderItems(source, question, order, state, [begin, separator, marker]);
    const next = (control: string): boolean => isControl(items.shift(), control);
    const text = (): string => (items[0] !== undefined && "text" in items[0] ? textOf(items.shift()!) : "");
    const starts = next(begin);
    const asked = text();
    const separates = next(separator);
    const options: string[] = [];
    while (isControl(items[0], marker)) {
      items.shift();
      options.push(text());
    }
    const ends = next(separator);
    const read = text();
    if (starts && separates && ends && next(separator) && items.length === 0 && options.length === order.length)
      return { question: asked, options, state: read };
    return fail(
      "UNSUPPORTED_MODEL",
      "tokenizer.chat_template.systemone",
      `must write ${begin} question ${separator} (${marker} option)* ${separator} state ${separator}`,
      advise.other("use another conversion of the model"),
    );
  }

  /** Texts can't have the marker of options. Other control tokens in them are text. */
  #withoutMarker(text: string): string {
    return text.replaceAll(this.#controls.marker, " ");
  }

  #clean({ instructions, options, ...question }: AskedQuestion): AskedQuestion {
    const cleaned = options.map(({ name, description }): DecisionOption => ({
      name: this.#withoutMarker(name),
      description: description && this.#withoutMarker(description),
    }));
    return { ...question, instructions: this.#withoutMarker(instructions), options: cleaned };
  }

  async #encode(text: string): Promise<Int32Array> {
    const known = this.#read.get(text);
    if (known !== undefined) return known;
    const { ids } = await this.#reader.text(text, { special: false, parseSpecial: false });
    this.#read.set(text, ids);
    return ids;
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const isControl = (item: PromptItem | undefined, control: string): boolean =>
  item !== undefined && "control" in item && item.control === control;
const textOf = (item: PromptItem): string => ("text" in item ? item.text : "");

/** As render_options() of the laya package. */
function layaOption({ type }: AskedQuestion, { name, description }: DecisionOption): string {
  if (type === "score") return `level ${name}: ${description!}`;
  if (type === "choice") return description === undefined ? name : `${name}: ${description}`;
  return `${name}: ${description ?? (name === "true" ? "yes, the statement holds" : "no, the statement does not hold")}`;
}

/** As Julia-1's own code and the template of llama.cpp's converter. */
function juliaOption(_: AskedQuestion, { name, description }: DecisionOption): string {
  return description ?? name;
}

/** The control tokens that the files name. @throws INVALID_FILE @internal */
export function controlsOf(files: ModelFiles, tokenizer: Tokenizer): Controls {
  const isGguf = files.decision === undefined;
  const named = (key: string, ggufKeys: readonly string[]): string => {
    const config = files.tokenizerConfig?.[key];
    const found = isGguf
      ? ggufKeys.map((own) => files.metadata[`tokenizer.ggml.${own}_token_id`]).find((id) => typeof id === "number")
      : tokenizer.idOf(String(isDict(config) ? config["content"] : config));
    const field = isGguf
      ? fieldOf(files.name, `tokenizer.ggml.${ggufKeys[0]!}_token_id`)
      : fieldOf("tokenizer_config.json", key);
    if (found === undefined || found >= tokenizer.vocabularySize)
      return fail("INVALID_FILE", field, "must name a token: the prompts of a decision checkpoint have it");
    return tokenizer.token(found);
  };
  return {
    begin: named("cls_token", ["cls", "bos"]),
    separator: named("sep_token", ["seperator"]),
    marker: named("mask_token", ["mask"]),
  };
}
