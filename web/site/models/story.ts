// A message for the chat: a story that ends with a question, longer than the small model's trained length.
import { textOf } from "../../../examples/small_model/texts.mjs";

/** Words of the story. */
const LENGTH = 512;

/** The story up to its last question, without the answer. */
export function storyWithQuestions(): string {
  const { text } = textOf({ seed: 1, length: LENGTH });
  return text.slice(0, text.lastIndexOf("?") + 1);
}
