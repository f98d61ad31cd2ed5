// The labels that a model answers with: texts that add whole tokens at the place of the answer, in this tokenizer and template.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { commonLength } from "../../../core/base/lists.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import type { TextReader } from "../run/text_reader.js";
import { type AnswerPlace, type AnswerPrompt, withEnd } from "./answer_place.js";
import { lastLine, type LabelKind, stateText } from "./prompt_text.js";
import { type DecisionType, MOST_LEVELS, type ReadQuestion } from "./questions.js";

/** A label: its text in the prompt, and the tokens by which a model answers with it, written in one way or several. @internal */
export interface Label {
  readonly text: string;
  readonly tokens: readonly Int32Array[];
}

/** The labels of a question, by the place of an option in the list; numbers and words by option. @internal */
export interface Labels {
  readonly kind: LabelKind;
  readonly list: readonly Label[];
}

const LETTERS = Array.from({ length: 26 }, (_, i) => String.fromCharCode(65 + i));
const CODES = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));
const NUMBERS = Array.from({ length: MOST_LEVELS }, (_, i) => String(i));
/** Models begin an answer with a capital letter, or don't. */
const WORDS = [
  ["yes", "Yes"],
  ["no", "No"],
];

/** Finds labels, once for each kind. @internal */
export class LabelFinder {
  readonly #model: { readonly tokenizer: Tokenizer; readonly info: { readonly name: string } };
  readonly #place: AnswerPlace;
  readonly #reader: TextReader;
  readonly #found = new Map<string, Labels>();

  constructor(
    model: { readonly tokenizer: Tokenizer; readonly info: { readonly name: string } },
    place: AnswerPlace,
    reader: TextReader,
  ) {
    this.#model = model;
    this.#place = place;
    this.#reader = reader;
  }

  /** @throws UNSUPPORTED_MODEL: this tokenizer and template have no such labels */
  async for({ type, options, name }: ReadQuestion): Promise<Labels> {
    const key = `${type} ${options.length}`;
    const labels = this.#found.get(key) ?? (await this.#find(type, options.length));
    if (labels === undefined)
      return fail(
        "UNSUPPORTED_MODEL",
        `questions.${name}`,
        `can't be asked: ${this.#model.info.name} has no tokens for ${options.length} labels where its chat template puts the answer`,
        advise.other("ask a model with another tokenizer"),
      );
    this.#found.set(key, labels);
    return labels;
  }

  /** One token for each label if the vocabulary has them; else several, whose probabilities are multiplied. */
  async #find(type: DecisionType, count: number): Promise<Labels | undefined> {
    if (type === "boolean") return (await this.#words(1)) ?? this.#words(Infinity);
    if (type === "score")
      return (await this.#inOrder("number", NUMBERS, count, 1)) ?? this.#inOrder("number", NUMBERS, count);
    if (count <= LETTERS.length)
      return (await this.#inOrder("letter", LETTERS, count, 1)) ?? this.#inOrder("letter", LETTERS, count);
    return (await this.#inOrder("code", [...LETTERS, ...CODES], count, 1)) ?? this.#inOrder("code", CODES, count);
  }

  /** The first labels of a list that have at most so many tokens. */
  async #inOrder(
    kind: LabelKind,
    texts: readonly string[],
    count: number,
    most = Infinity,
  ): Promise<Labels | undefined> {
    const tokensOf = await this.#tokens(kind, most);
    const list: Label[] = [];
    for (const text of texts) {
      if (list.length === count) break;
      const tokens = await tokensOf(text);
      if (tokens !== undefined) list.push({ text, tokens: [tokens] });
    }
    return list.length === count && areApart(list) ? { kind, list } : undefined;
  }

  async #words(most: number): Promise<Labels | undefined> {
    const tokensOf = await this.#tokens("word", most);
    const tokens: Int32Array[][] = WORDS.map(() => []);
    for (const i of WORDS[0]!.keys()) {
      const [yes, no] = [await tokensOf(WORDS[0]![i]!), await tokensOf(WORDS[1]![i]!)];
      if (yes === undefined || no === undefined) continue;
      tokens[0]!.push(yes);
      tokens[1]!.push(no);
    }
    const list = WORDS.map(([text], i) => ({ text: text!, tokens: tokens[i]! }));
    return tokens[0]!.length > 0 && areApart(list) ? { kind: "word", list } : undefined;
  }

  /** What a label adds to a prompt that ends as those with this kind of labels do; undefined if it adds other tokens, or changes those before it. */
  async #tokens(kind: LabelKind, most: number): Promise<(text: string) => Promise<Int32Array | undefined>> {
    const prompt = await this.#place.prompt(`${stateText("x")}Question: x\n${lastLine(kind, ["yes", "no"])}`);
    const before = await this.encode(prompt);
    return async (text) => {
      const added = await this.#added(prompt, before, text);
      const isAllowed = added !== undefined && added.length <= most;
      return isAllowed && !added.some((token) => this.#model.tokenizer.isSpecial(token)) ? added : undefined;
    };
  }

  async #added(prompt: AnswerPrompt, before: Int32Array, text: string): Promise<Int32Array | undefined> {
    const tokens = await this.encode(withEnd(prompt, this.#place.lead + text));
    const isSame = commonLength(tokens, before) === before.length;
    return isSame && tokens.length > before.length ? tokens.slice(before.length) : undefined;
  }

  /** The tokens of the prompt of a question. @throws UNSUPPORTED_MODEL: its labels have other tokens after it */
  async promptTokens(prompt: AnswerPrompt, { list: [label] }: Labels, field: string): Promise<Int32Array> {
    const tokens = await this.encode(prompt);
    const added = await this.#added(prompt, tokens, label!.text);
    if (added === undefined || added.join() !== label!.tokens[0]!.join())
      fail(
        "UNSUPPORTED_MODEL",
        field,
        "can't be asked: the labels have other tokens after this prompt",
        advise.other("shorten it"),
      );
    return tokens;
  }

  async encode(prompt: AnswerPrompt): Promise<Int32Array> {
    return (await this.#reader.chat(prompt)).ids;
  }
}

/** Whether no label is the beginning of another one. */
function areApart(list: readonly Label[]): boolean {
  const keys = list.flatMap(({ tokens }) => tokens.map((own) => `${own.join()},`)).sort();
  return keys.every((key, i) => i === 0 || !key.startsWith(keys[i - 1]!));
}
