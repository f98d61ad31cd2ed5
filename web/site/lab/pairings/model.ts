// The small model of the examples under both pairings, loaded when the reader asks for it.
import type { Ropewalk } from "ropewalk";
import { find, withText } from "../../page/elements.js";
import { fetchSmallModel } from "../../page/small_model.js";
import type { TwoPairings } from "./picture.js";

const PROMPT =
  "The red ball is in the garden. The white shoe is in the bedroom. Where is the red ball? The red ball is in the";
/** The pairing of a Llama in a GGUF file. */
const OWN: TwoPairings = "interleaved";

/** Sets up the button that loads the model and shows what it says. */
export function tryPairings(section: HTMLElement, rw: Ropewalk): void {
  const button = find<HTMLButtonElement>("[data-action=try]", section);
  const result = find("#pairings-model", section);
  const show = async (): Promise<void> => {
    button.disabled = true;
    result.textContent = "Loading …";
    try {
      const file = await fetchSmallModel();
      const rows = [await answer(rw, file, OWN), await answer(rw, file, "half")];
      result.replaceChildren(withText("p", PROMPT + " …"), tableOf(rows));
    } catch (error) {
      result.replaceChildren(Object.assign(withText("p", (error as Error).message), { className: "problem" }));
    } finally {
      button.disabled = false;
    }
  };
  button.addEventListener("click", () => void show());
}

interface Answer {
  readonly pairing: TwoPairings;
  readonly text: string;
  /** Mean loss of the prompt's tokens. */
  readonly loss: number;
}

async function answer(rw: Ropewalk, file: File, pairing: TwoPairings): Promise<Answer> {
  const model = await rw.model(file, { rope: { pairing } });
  try {
    let text = "";
    for await (const piece of model.generate(PROMPT, { maxTokens: 12, temperature: 0 })) text += piece.text;
    const { loss } = await model.perplexity(`${PROMPT} garden.`);
    return { pairing, text, loss };
  } finally {
    model.dispose();
  }
}

function tableOf(answers: readonly Answer[]): HTMLTableElement {
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const name of ["pairing", "it continues", "loss per token"]) {
    const cell = withText("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const { pairing, text, loss } of answers) {
    const row = body.insertRow();
    const own = pairing === OWN ? `${pairing}, as in the file` : pairing;
    for (const value of [own, `…${text}`, loss.toFixed(2)]) row.insertCell().textContent = value;
  }
  return table;
}
