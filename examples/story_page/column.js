// A column of the page: a model in a Worker of its own, and the story that it tells.
import { load } from "../../dist/worker.js";
import { describeRope, speed } from "../model_text.js";
import { svg } from "../page/svg.js";
import { fetchSmallModel } from "../small_model/fetched.mjs";
import { StoryListener } from "../small_model/stories.mjs";
import { answersByStretch, TRAINED_LENGTH } from "../small_model/texts.mjs";

const BARS = { width: 320, height: 56, gap: 4 };

export class Column {
  #model;
  #parts;
  #listener;
  #answers; // to its questions, so far
  #state; // of how many words, how fast
  #frame; // in which the end will be shown
  #lastWord; // node of the word before a full stop, which may answer a question

  /** Opens the small model, or its fine-tuned variant, for an element of the page. */
  static async open(element, variant) {
    const column = new Column();
    element.append(document.getElementById("column").content.cloneNode(true));
    column.#parts = Object.fromEntries(
      ["rope", "answers", "answers-text", "state", "told"].map((name) => [name, element.querySelector(`.${name}`)]),
    );
    const [rw, files] = await Promise.all([load(), fetchSmallModel(variant)]);
    column.#model = await rw.model(files);
    return column;
  }

  /** Tells a story of `length` words under a RoPE, until it is as long or the signal says so. */
  async tell(beginning, { overrides, length, signal, ...sampling }) {
    const session = await this.#model.session({ contextLength: length });
    try {
      await session.retune(overrides);
      await session.append(beginning);
      this.#begin(beginning, length, describeRope(session.rope));
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
        const told = `${session.length.toLocaleString("en")} of ${length.toLocaleString("en")} words`;
        this.#state = `${told}, ${speed(session.length - read, performance.now() - start)}`;
        this.#showEnd();
      }
    } finally {
      await session.dispose();
    }
  }

  #begin(beginning, length, rope) {
    const { rope: name, told } = this.#parts;
    name.textContent = `RoPE ${rope}`;
    told.replaceChildren(beginning);
    this.#listener = new StoryListener();
    this.#answers = this.#listener.hear(beginning);
    this.#lastWord = undefined;
    this.#showAnswers(length);
  }

  #add(piece, length) {
    const { told } = this.#parts;
    const node = told.appendChild(document.createTextNode(piece));
    const [answer] = this.#listener.hear(piece); // a piece is a word or a sign
    if (answer !== undefined) {
      this.#answers.push(answer);
      this.#markAnswer(answer.isRight);
      this.#showAnswers(length);
    }
    this.#lastWord = node;
  }

  /** Once a frame: words come faster, and each look at the height lays the page out. */
  #showEnd() {
    this.#frame ??= requestAnimationFrame(() => {
      const { told, state } = this.#parts;
      this.#frame = undefined;
      state.textContent = this.#state;
      told.scrollTop = told.scrollHeight;
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
    limit.textContent = `${TRAINED_LENGTH} words: as far as it was trained`;
    this.#parts.told.append(limit);
  }

  /** A bar for each stretch of the trained length, as high as its share of right answers. */
  #showAnswers(length) {
    const stretches = answersByStretch(this.#answers, length);
    const { width, height, gap } = BARS;
    const step = (width + gap) / stretches.length;
    const bars = stretches.flatMap(({ asked, right }, i) => {
      const place = { x: i * step, width: step - gap };
      const filled = asked === 0 ? 0 : (height * right) / asked;
      return [
        svg("rect", { class: "asked", y: 0, height, ...place }),
        svg("rect", { class: "right", y: height - filled, height: filled, ...place }),
      ];
    });
    const { answers, "answers-text": text } = this.#parts;
    answers.setAttribute("viewBox", `0 0 ${width} ${height}`);
    answers.replaceChildren(...bars);
    text.textContent = `right: ${stretches.map(({ asked, right }) => `${right} of ${asked}`).join(" · ")}`;
    answers.setAttribute("aria-label", `Right answers, by ${TRAINED_LENGTH} words: ${text.textContent}`);
  }
}
