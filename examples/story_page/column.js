// One column of the page: a model in its own Worker, and the story that it generates.
import { load } from "../../dist/worker.js";
import { describeRope, speed } from "../model_text.js";
import { svg } from "../page/svg.js";
import { fetchSmallModel } from "../small_model/fetched.mjs";
import { AnswerReader } from "../small_model/stories.mjs";
import { answersBySpan, TRAINED_LENGTH } from "../small_model/texts.mjs";

const BARS = { width: 320, height: 56, gap: 4 };

export class Column {
  #model;
  #parts;
  #reader;
  #answers; // so far
  #state; // words so far and speed, as text
  #frame; // animation frame that will show the end of the story
  #lastWord; // text node of the last word, which is an answer if the next piece completes one

  /** Loads the small model, or its fine-tuned variant, for an element of the page. */
  static async open(element, variant) {
    const column = new Column();
    element.append(document.getElementById("column").content.cloneNode(true));
    column.#parts = Object.fromEntries(
      ["rope", "answers", "answers-text", "state", "story"].map((name) => [name, element.querySelector(`.${name}`)]),
    );
    const [rw, files] = await Promise.all([load(), fetchSmallModel(variant)]);
    column.#model = await rw.model(files);
    return column;
  }

  /** Generates a story of `length` words under `overrides` of the model's RoPE, or until the signal aborts. */
  async generate(opening, { overrides, length, signal, ...sampling }) {
    const session = await this.#model.session({ contextLength: length });
    try {
      await session.retune(overrides);
      await session.append(opening);
      this.#start(opening, length, describeRope(session.rope));
      const start = performance.now();
      const read = session.length;
      for await (const { text } of session.generate({
        maxTokens: length - session.length,
        ignoreEnd: true,
        signal,
        ...sampling,
      })) {
        if (session.length === TRAINED_LENGTH + 1) this.#markTrainedLength();
        this.#add(text, length);
        const progress = `${session.length.toLocaleString("en")} of ${length.toLocaleString("en")} words`;
        this.#state = `${progress}, ${speed(session.length - read, performance.now() - start)}`;
        this.#showEnd();
      }
    } finally {
      await session.dispose();
    }
  }

  #start(opening, length, rope) {
    const { rope: name, story } = this.#parts;
    name.textContent = `RoPE ${rope}`;
    story.replaceChildren(opening);
    this.#reader = new AnswerReader();
    this.#answers = this.#reader.read(opening);
    this.#lastWord = undefined;
    this.#showAnswers(length);
  }

  #add(piece, length) {
    const { story } = this.#parts;
    const node = story.appendChild(document.createTextNode(piece));
    const [answer] = this.#reader.read(piece); // each piece is a word or a punctuation mark
    if (answer !== undefined) {
      this.#answers.push(answer);
      this.#markAnswer(answer.isRight);
      this.#showAnswers(length);
    }
    this.#lastWord = node;
  }

  /** At most once per frame: words arrive faster than that, and reading scrollHeight forces a layout. */
  #showEnd() {
    if (this.#frame !== undefined) return;
    this.#frame = requestAnimationFrame(() => {
      const { story, state } = this.#parts;
      this.#frame = undefined;
      state.textContent = this.#state;
      story.scrollTop = story.scrollHeight;
    });
  }

  #markAnswer(isRight) {
    const mark = document.createElement("mark");
    mark.className = isRight ? "right" : "wrong";
    mark.textContent = this.#lastWord.data.trimStart();
    this.#lastWord.replaceWith(" ", mark);
  }

  #markTrainedLength() {
    const limit = document.createElement("span");
    limit.className = "limit";
    limit.textContent = `${TRAINED_LENGTH} words: trained length`;
    this.#parts.story.append(limit);
  }

  /** One bar for each span of the trained length: the share of right answers. */
  #showAnswers(length) {
    const spans = answersBySpan(this.#answers, length);
    const { width, height, gap } = BARS;
    const step = (width + gap) / spans.length;
    const bars = spans.flatMap(({ asked, right }, i) => {
      const box = { x: i * step, width: step - gap };
      const filled = asked === 0 ? 0 : (height * right) / asked;
      return [
        svg("rect", { class: "asked", y: 0, height, ...box }),
        svg("rect", { class: "right", y: height - filled, height: filled, ...box }),
      ];
    });
    const { answers, "answers-text": text } = this.#parts;
    answers.setAttribute("viewBox", `0 0 ${width} ${height}`);
    answers.replaceChildren(...bars);
    text.textContent = `right: ${spans.map(({ asked, right }) => `${right} of ${asked}`).join(" · ")}`;
    answers.setAttribute("aria-label", `Right answers in each ${TRAINED_LENGTH} words: ${text.textContent}`);
  }
}
