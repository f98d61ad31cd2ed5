// The front page's first screen: the recorded story as eight ropes, and the switch that heals them. No wasm is needed.
import { find } from "../page/elements.js";
import { wantsLessMotion } from "../page/motion.js";
import { StoryPicture } from "./picture.js";
import { type Reading, type RecordedAnswer, type RecordedStory, isRight, scoreOf } from "./story.js";

/** The recorded story, put in when the site is built. */
declare const RECORDED_STORY: RecordedStory;

/** Time to see that the answers go wrong, before they are healed once by themselves. */
const WAIT_MS = 2600;

const story = RECORDED_STORY;
const section = find("#story");
const buttons = [...section.querySelectorAll<HTMLButtonElement>("[data-reading]")];
const picture = new StoryPicture(find<SVGSVGElement & HTMLElement>("#story-picture", section), story, showAnswer);

let reading: Reading = "plain";
/** The question below the picture: at first, one about a fact far back that YaRN answers. */
let asked = story.answers.filter((one) => !isRight(one, "plain") && isRight(one, "yarn")).reduce(farther);

function farther(a: RecordedAnswer, b: RecordedAnswer): RecordedAnswer {
  return b.distance > a.distance ? b : a;
}

function show(next: Reading, isAnimated: boolean): void {
  reading = next;
  section.dataset.reading = next;
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.reading === next));
  picture.show(next, isAnimated && !wantsLessMotion());
  const { right, asked: all } = scoreOf(story, next);
  find("#story-score", section).textContent = `${right} of ${all}`;
  showAnswer(asked);
}

function showAnswer(answer: RecordedAnswer): void {
  asked = answer;
  const given = answer[answer.at < story.switchAt ? "plain" : reading];
  const right = given === answer.truth;
  const mark = Object.assign(document.createElement("mark"), {
    className: right ? "right" : "wrong",
    textContent: `${right ? "✓" : "✗"} ${given}`,
  });
  find("#story-question", section).replaceChildren(`“${answer.question} `, mark, "”");
  const truth = right ? "" : ` It is in the ${answer.truth}.`;
  find("#story-fact", section).textContent =
    `Token ${answer.at.toLocaleString("en")}. The story said so ${answer.distance.toLocaleString("en")} words earlier.${truth}`;
  picture.choose(answer);
}

for (const button of buttons)
  button.addEventListener("click", () => {
    clearTimeout(healing);
    show(button.dataset.reading as Reading, true);
  });
addEventListener("resize", () => picture.resize());

const healing = wantsLessMotion() ? undefined : setTimeout(() => show("yarn", true), WAIT_MS);
show("plain", false);

find("#story-live").addEventListener("click", () => {
  const live = find("#live");
  live.scrollIntoView();
  void whenReady(live).then(() => {
    live.scrollIntoView(); // the panels above have been drawn meanwhile
    const load = find<HTMLButtonElement>("#live-load", live);
    if (load.checkVisibility()) load.click();
  });
});

/** Panels start when they come into sight. */
function whenReady(panel: HTMLElement): Promise<void> {
  if (panel.dataset.state !== undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (panel.dataset.state === undefined) return;
      observer.disconnect();
      resolve();
    });
    observer.observe(panel, { attributeFilter: ["data-state"] });
  });
}
