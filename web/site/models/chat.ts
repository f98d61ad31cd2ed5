// The chat with the open model.
import { find } from "../page/elements.js";
import { ropeText, scalingText, speedText } from "../page/units.js";
import type { Conversation } from "./conversation.js";
import { forgetAttention, showAttention, startAttention } from "./attention.js";
import { factsOf } from "./facts.js";
import { forgetNext, showNext } from "./next_token.js";
import { storyWithQuestions } from "./story.js";

const settings = find<HTMLFormElement>("#settings");
const control = (name: string): HTMLInputElement => settings.elements.namedItem(name) as HTMLInputElement;
const [log, message] = [find("#log"), find<HTMLTextAreaElement>("#message")];

/** The parts of the page that work with the open model. */
const PARTS = ["chat", "next", "attention", "perplexity"];

/** Tokens of an answer, at most, if the reader doesn't choose: of models with a short context, and of others. */
const [SHORT_ANSWER, USUAL_ANSWER] = [60, 256];

/** The chat of the page. */
export class Chat {
  conversation: Conversation | undefined;
  #answering: AbortController | undefined;

  /** @param report - shows an error */
  constructor(private readonly report: (error: Error) => void) {
    const form = find<HTMLFormElement>("#composer");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = message.value;
      if (this.#answering !== undefined || text.trim() === "" || !settings.reportValidity()) return;
      message.value = "";
      void this.#answer(text);
    });
    message.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
    find("#story").addEventListener("click", () => {
      message.value = storyWithQuestions();
      message.focus();
    });
    find("#stop").addEventListener("click", () => this.#answering?.abort());
    find("#new-chat").addEventListener("click", () => void this.#clear());
    startAttention(() => {
      const current = this.conversation;
      if (current !== undefined) void this.#attempt(() => showAttention(current, scalingText(current.session.rope)));
    });
    for (const name of ["context", "scaling"]) control(name).addEventListener("input", () => void this.#retune());
  }

  /** Replaces the open model. `wanted` is the context length of the address, if it has one. */
  async begin(conversation: Conversation, wanted: string | null): Promise<void> {
    const before = this.conversation;
    this.#answering?.abort();
    this.conversation = conversation;
    forgetNext();
    forgetAttention();
    log.replaceChildren();
    find("#speed").textContent = "–";
    find("#model-name").textContent = conversation.model.info.name;
    find("#model-facts").textContent = factsOf(conversation.model);
    const { usualLength } = conversation;
    const options = conversation
      .lengths()
      .map(({ length, label }) => new Option(label, String(length), length === usualLength, length === usualLength));
    const context = settings.elements.namedItem("context") as HTMLSelectElement;
    context.replaceChildren(...options);
    if (wanted !== null && options.some(({ value }) => value === wanted)) context.value = wanted;
    const maxTokens = control("maxTokens");
    const isUsual = maxTokens.value === maxTokens.defaultValue;
    maxTokens.defaultValue = String(conversation.isShort ? SHORT_ANSWER : USUAL_ANSWER);
    if (isUsual) maxTokens.value = maxTokens.defaultValue;
    const scaling = settings.elements.namedItem("scaling") as HTMLSelectElement;
    scaling.disabled = conversation.model.rope === null;
    for (const id of PARTS) find(`#${id}`).hidden = false;
    await before?.end();
    if (context.value !== String(conversation.model.info.contextLength) || scaling.value !== "auto")
      await this.#retune();
    this.#showState();
    await this.#showReading(conversation);
  }

  /** Closes the open model, which frees its memory. */
  close(): void {
    this.#answering?.abort();
    void this.conversation?.end();
    this.conversation = undefined;
    for (const id of PARTS) find(`#${id}`).hidden = true;
  }

  async #answer(text: string): Promise<void> {
    const answering = new AbortController();
    const { signal } = (this.#answering = answering);
    const current = this.conversation!;
    this.#setBusy(true);
    write("user", text);
    const line = write("assistant", "");
    const options = {
      maxTokens: control("maxTokens").valueAsNumber,
      temperature: control("temperature").valueAsNumber,
      signal,
    };
    let [count, start] = [0, 0];
    try {
      for await (const piece of current.say(text, options)) {
        if (count++ === 0) start = performance.now(); // don't count the prompt
        line.append(line.textContent === "" ? piece.text.trimStart() : piece.text);
        log.scrollTop = log.scrollHeight;
        if (current !== this.conversation) return;
        this.#showState();
        if (count > 1) find("#speed").textContent = speedText(count - 1, performance.now() - start);
        if (piece.finish === "full")
          write("note", "The context is full. Choose a longer context above, or start a new chat.");
        if (piece.finish === "length" && options.maxTokens > 0)
          write("note", "Stopped at the maximum number of tokens. Send a message to continue.");
      }
    } catch (error) {
      if (signal.aborted) write("note", "Stopped.");
      else if (current === this.conversation) this.report(error as Error);
    } finally {
      if (this.#answering === answering) this.#answering = undefined;
      if (line.textContent === "") Object.assign(line, { className: "note", textContent: "(empty answer)" });
      if (current === this.conversation) {
        this.#showState();
        this.#setBusy(false);
        await this.#attempt(() => this.#showReading(current));
      }
    }
  }

  /** Switches the scaling, also in the middle of an answer. */
  async #retune(): Promise<void> {
    const current = this.conversation;
    if (current === undefined) return;
    await this.#attempt(async () => {
      const before = scalingText(current.session.rope);
      const start = performance.now();
      await current.retune(control("scaling").value, Number(control("context").value));
      const milliseconds = performance.now() - start;
      this.#showState();
      const { rope, length } = current.session;
      if (rope?.rope_scaling?.factor === 1)
        write("note", "This scaling changes nothing: its factor is 1. Choose a longer context.");
      if (this.#answering !== undefined || length === 0 || scalingText(rope) === before) return;
      write("note", `The cached keys of ${length} tokens were rotated in ${milliseconds.toFixed(1)} ms.`);
      await current.readLastAgain();
      await this.#showReading(current);
    });
    this.#showState();
  }

  async #clear(): Promise<void> {
    await this.#attempt(async () => {
      await this.conversation!.clear();
      log.replaceChildren();
      this.#showState();
      await this.#showReading(this.conversation!);
    });
  }

  /** What the model would say next, and what its heads read for it. */
  async #showReading(conversation: Conversation): Promise<void> {
    await showNext(conversation);
    await showAttention(conversation, scalingText(conversation.session.rope));
  }

  async #attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.report(error as Error);
    }
  }

  #showState(): void {
    const { length, contextLength, rope } = this.conversation!.session;
    find("#rope").textContent = ropeText(rope);
    find("#context").textContent = `${length.toLocaleString("en")} of ${contextLength.toLocaleString("en")}`;
    find<HTMLMeterElement>("#used").value = length / contextLength;
  }

  #setBusy(isBusy: boolean): void {
    find<HTMLButtonElement>("#send").disabled = isBusy;
    find<HTMLButtonElement>("#stop").disabled = !isBusy;
    find<HTMLButtonElement>("#new-chat").disabled = isBusy;
    if (!isBusy) message.focus({ preventScroll: true });
  }
}

function write(kind: string, text: string): HTMLElement {
  const line = log.appendChild(document.createElement("div"));
  line.className = kind;
  line.textContent = text;
  log.scrollTop = log.scrollHeight;
  return line;
}
