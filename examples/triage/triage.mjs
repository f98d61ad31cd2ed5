// A page that sorts messages into groups. A model in a Worker answers two questions about each message, and starts again when one edits them.
import { load } from "ropewalk/worker";
import exampleUrl from "ropewalk/small_model.gguf?url";
import { MESSAGES } from "./messages.mjs";

const PAUSE_MS = 300; // after the last key
/** The example model has no template for chats. Its context is longer than its texts were, which is enough to try the page. */
const EXAMPLE = {
  chatTemplate: '{{ messages | map(attribute="content") | join(" ") }}\n',
  contextLength: 2048,
  onWarning() {},
};

const IDS = ["topic", "options", "urgent", "progress", "status", "problem", "model", "file", "groups"];
const [topic, options, urgent, progress, status, problem, about, file, groups] = IDS.map((id) =>
  document.getElementById(id),
);

const rw = await load();
let model;
/** For each message, what it was answered with; undefined before. `round` says with which questions. */
const answers = MESSAGES.map(() => undefined);
let round = 0;
let sorting = new AbortController();

/** Opens a model, and sorts the messages with it. */
async function open(source, given) {
  sorting.abort();
  await model?.dispose();
  model = undefined;
  about.textContent = "Loading a model";
  try {
    model = await rw.model(source, given);
  } catch (error) {
    about.textContent = "No model";
    problem.textContent = error.message;
    return;
  }
  const threads = rw.threads === 1 ? "one thread" : `${rw.threads} threads`;
  const hint = given === EXAMPLE ? " · it tells stories, so its answers mean nothing: open a chat model" : "";
  about.textContent = `${model.info.name}, ${threads}${hint}`;
  await sort();
}

/** The questions as they are written now. */
function questions() {
  const criteria = options.value
    .split("\n")
    .map((line) => line.split(":"))
    .filter(([name]) => name.trim() !== "")
    .map(([name, ...rest]) => [name.trim(), rest.join(":").trim() || null]);
  return {
    topic: { type: "choice", instructions: topic.value, criteria },
    urgent: { type: "boolean", instructions: urgent.value },
  };
}

/** Asks about each message. New questions end this with an abort. */
async function sort() {
  sorting.abort();
  const { signal } = (sorting = new AbortController());
  const asked = questions();
  const own = ++round;
  problem.textContent = "";
  const start = performance.now();
  try {
    for (const [i, message] of MESSAGES.entries()) {
      const { answers: found } = await model.decide(message, asked, { signal });
      answers[i] = { ...found, round: own };
      progress.value = (i + 1) / MESSAGES.length;
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      status.textContent = `${i + 1} of ${MESSAGES.length} sorted in ${seconds} s`;
      show(asked.topic.criteria.map(([name]) => name));
    }
  } catch (error) {
    if (signal.aborted) return;
    problem.textContent = error.message; // such as a group that is named twice
  }
}

let isShowing = false;

/** Shows the groups, once for each frame. */
function show(names) {
  if (isShowing) return;
  isShowing = true;
  requestAnimationFrame(() => {
    isShowing = false;
    groups.replaceChildren(...names.map(groupOf));
  });
}

/** A group with its messages, those first that need an answer. What was sorted by earlier questions is pale. */
function groupOf(name) {
  const own = MESSAGES.map((text, i) => ({ text, answer: answers[i] }))
    .filter(({ answer }) => answer?.topic.choice === name)
    .sort((a, b) => b.answer.urgent.probability - a.answer.urgent.probability);
  const section = element("section", "");
  const heading = element("h2", name);
  heading.append(" ", element("small", String(own.length)));
  const list = element("ol", "");
  list.append(
    ...own.map(({ text, answer }) => {
      const item = element("li", text);
      item.classList.toggle("old", answer.round !== round);
      const p = answer.topic.probabilities[name];
      const bar = element("meter", "");
      bar.value = p;
      item.prepend(bar);
      item.title = `${name} ${p.toFixed(2)}, first ${answer.urgent.probability.toFixed(2)}`;
      bar.setAttribute("aria-label", item.title);
      return item;
    }),
  );
  section.append(heading, list);
  return section;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

let pause;
document.getElementById("questions").addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(() => model && sort(), PAUSE_MS);
});
document.getElementById("questions").addEventListener("submit", (event) => event.preventDefault());
file.addEventListener("change", () => file.files.length > 0 && open([...file.files]));

await open(new URL(exampleUrl, document.baseURI).href, EXAMPLE);
