// The part of the panel that shows attention: loads the model on request, then follows the form.
import { find } from "../../page/elements.js";
import { SMALL_MODEL_BYTES } from "../../page/small_model.js";
import { bytesText } from "../../page/units.js";
import { AttentionView, questionsOf, type WantedView } from "./attention.js";
import type { ChosenMark } from "../../page/attention_charts.js";
import type { PanelParts } from "../panel.js";

/** Returns the function that draws the part. Errors are shown in it, with a button to try again. */
export function attentionPart({ section, form, rw, redraw }: PanelParts): () => Promise<void> {
  const [button, state] = [find<HTMLButtonElement>("#live-attend", section), find("#live-attention-state", section)];
  button.textContent = `Show the attention (${bytesText(SMALL_MODEL_BYTES)})`;
  let view: AttentionView | undefined;
  let newest = 0; // number of the newest drawing: an older one that ends later isn't shown
  let isRunning = false;

  const control = (name: string): HTMLInputElement => form.elements.namedItem(name) as HTMLInputElement;
  const wanted = (): WantedView => {
    const seed = Math.max(1, Math.floor(Number(control("seed").value)) || 1);
    const questions = questionsOf(seed);
    control("question").max = String(Math.max(0, questions.length - 1));
    return {
      seed,
      first: control("first").value,
      later: control("later").value,
      question: Number(control("question").value),
      layer: Number(control("layer").value) - 1,
      head: Number(control("head").value) - 1,
      word: Number(control("word").value),
    };
  };
  const showValues = ({ seed, question, layer, head, word }: WantedView): void => {
    const { at, distance } = questionsOf(seed)[question]!;
    control("word").max = String(at - 1);
    const texts = { question: `at token ${at}, fact ${distance} back`, layer: layer + 1, head: head + 1, word };
    for (const [name, text] of Object.entries(texts))
      find(`output[data-of="${name}"]`, section).textContent = String(text);
  };

  const draw = async (): Promise<void> => {
    if (view === undefined) return;
    const number = ++newest;
    while (isRunning) await new Promise(requestAnimationFrame);
    if (number !== newest) return;
    isRunning = true;
    try {
      const now = wanted();
      if (questionsOf(now.seed).length === 0) throw new Error("This story has no such answer. Choose another story.");
      showValues(now);
      const answers = await view.read(now, (text) => (state.textContent = text));
      state.textContent = "";
      if (number !== newest) return;
      find("#live-attention", section).hidden = false;
      view.draw(section, now, answers);
      button.hidden = true;
    } catch (error) {
      state.textContent = (error as Error).message;
      await view.dispose();
      view = undefined;
      Object.assign(button, { hidden: false, disabled: false, textContent: "Try again" });
    } finally {
      isRunning = false;
    }
  };

  // a click on a mark chooses its head and word, by their controls
  find("#live-heads", section).addEventListener("click", () => {
    const { value } = find<HTMLElement & { value?: ChosenMark }>("#live-heads .chart > *", section);
    if (value == null) return;
    const [layer, head] = value.head.split(".");
    for (const [name, chosen] of Object.entries({ layer, head, word: value.token }))
      control(name).value = String(chosen);
    control("word").dispatchEvent(new Event("input", { bubbles: true }));
  });
  button.addEventListener("click", () => {
    button.disabled = true;
    state.textContent = "Loading the model …";
    AttentionView.open(rw).then(
      (opened) => {
        view = opened;
        redraw();
      },
      (error: unknown) => {
        state.textContent = (error as Error).message;
        Object.assign(button, { disabled: false, textContent: "Try again" });
      },
    );
  });
  return draw;
}
