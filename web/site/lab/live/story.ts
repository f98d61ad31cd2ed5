// The words of a story, with its answers and switches marked.
import { withText } from "../../page/elements.js";
import { labelOf } from "./charts.js";
import type { Run } from "./run.js";

/** Writes the words that have been read. A wrong answer is followed by the right one. */
export function drawStory(element: HTMLElement, run: Run): void {
  if (element.closest("details")?.open === false) return;
  const answers = new Map(run.answers.map((answer) => [answer.at, answer]));
  const switches = new Map(run.switches.map(({ at, scaling }) => [at, scaling]));
  const nodes: (Node | string)[] = [];
  let words = ""; // browsers lay out a text for each word slowly
  const mark = (tag: "span" | "mark", className: string, text: string): void => {
    nodes.push(`${words} `, Object.assign(withText(tag, text), { className }));
    words = "";
  };
  for (const [at, word] of run.words.slice(0, run.losses.length).entries()) {
    const scaling = switches.get(at);
    if (scaling !== undefined && at > 0) mark("span", "switch", labelOf(scaling));
    const answer = answers.get(at);
    if (answer === undefined) {
      words += /^[.?]$/.test(word) || at <= 1 ? word : ` ${word}`;
      continue;
    }
    const given = answer.word ?? word;
    mark("mark", answer.isRight ? "right" : "wrong", `${answer.isRight ? "✓" : "✗"} ${given}`);
    if (!answer.isRight && given !== word) words += ` ${word}`;
  }
  const isAtEnd = element.scrollTop + element.clientHeight > element.scrollHeight - 40;
  element.replaceChildren(...nodes, words);
  if (isAtEnd) element.scrollTop = element.scrollHeight;
}
