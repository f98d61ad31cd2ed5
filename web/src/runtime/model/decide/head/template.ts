// Renders the prompt of a GGUF file's decision template: which texts come between which control tokens.
import * as advise from "../../../../core/base/advice.js";
import { fail } from "../../../../core/base/errors.js";
import { chatTemplateOf } from "../../../text/chat/compiled.js";
import type { ReadQuestion } from "../questions.js";
import { TYPE_NAMES } from "./settings.js";

/** A control token that the template writes, or a text between two of them. @internal */
export type PromptItem = { readonly control: string } | { readonly text: string };

/** Characters for private use. */
const [START, END] = ["\uE000", "\uE001"];
/**
 * The template gets these instead of texts, so that no text can pass for a part of it. They begin and end with spaces and have letters of both cases,
 * so that a template that changes texts changes these.
 */
const markOf = (index: number): string => ` ${START}aB${index}${END} `;
const MARK = / \uE000aB(\d+)\uE001 /;

/**
 * @param controls - the texts of the control tokens that it may write
 * @throws INVALID_FILE (the template fails), UNSUPPORTED_MODEL (it changes the texts)
 * @internal
 */
export function renderItems(
  source: string,
  { type, name, instructions, options }: ReadQuestion & { readonly instructions: string },
  order: readonly number[],
  state: string,
  controls: readonly string[],
): PromptItem[] {
  const texts: string[] = [];
  const marked = (text: string): string => markOf(texts.push(text) - 1);
  const rendered = chatTemplateOf(source).run(
    {
      id: marked(name),
      type: TYPE_NAMES[type],
      instructions: marked(instructions),
      state: marked(state),
      options: order.map((option) => {
        const { name: key, description } = options[option]!;
        // templates compare these keys, and no text of the question is in them
        return {
          key: type === "choice" ? marked(key) : key,
          description: description === undefined ? null : marked(description),
        };
      }),
      images: [],
    },
    new Date(0),
  );
  const isControl = new RegExp(`(${controls.map((token) => token.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|")})`);
  const items: PromptItem[] = [];
  const add = (text: string): void => {
    const last = items[items.length - 1];
    if (last !== undefined && "text" in last) items[items.length - 1] = { text: last.text + text };
    else if (text !== "") items.push({ text });
  };
  rendered.split(MARK).forEach((part, i) => {
    if (i % 2 === 1) {
      add(texts[Number(part)]!);
      return;
    }
    if (part.includes(START) || part.includes(END))
      fail(
        "UNSUPPORTED_MODEL",
        "tokenizer.chat_template.systemone",
        "changes the texts of a question, which this package can't follow",
        advise.other("use another conversion of the model"),
      );
    part.split(isControl).forEach((piece, j) => (j % 2 === 1 ? items.push({ control: piece }) : add(piece)));
  });
  return items;
}
