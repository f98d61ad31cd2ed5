// The page: opens a model that is dropped or chosen, and holds a conversation with it.
import { Conversation } from "./conversation.js";
import { filesOfDrop } from "./dropped.js";
import { describeRope, size, speed } from "../model_text.js";
import { fetchSmallModel } from "../small_model/fetched.mjs";
import { load } from "../../dist/worker.js";

const at = (id) => document.getElementById(id);
const { stretch, maxTokens, temperature } = at("settings").elements;

let conversation; // with the model that is open
let opening; // AbortController of the one that is being opened
let answering; // AbortController of the answer that is being given

/** @param find - gives the model's files, or a promise of them, for a signal. */
async function open(find) {
  if (opening !== undefined) return;
  opening = new AbortController();
  const { signal } = opening;
  answering?.abort();
  let rw;
  try {
    show({ drop: false, loading: true, chat: false, problem: false });
    await conversation?.end();
    conversation = undefined;
    tellProgress({ stage: "opening", loaded: 0, total: 1 });
    const files = await find(signal);
    rw = await load({ signal });
    const model = await rw.model(files, { signal, onProgress: tellProgress });
    conversation = await Conversation.begin(rw, model);
    present(model);
  } catch (error) {
    await rw?.dispose(); // a Worker keeps the memory it once had
    if (!signal.aborted) report(error);
  } finally {
    opening = undefined;
    show({ drop: true, loading: false, chat: conversation !== undefined });
  }
  if (conversation !== undefined) at("message").focus();
}

function tellProgress({ stage, loaded, total }) {
  at("loaded").textContent = stage === "opening" ? "Opening …" : `Reading weights: ${size(loaded)} of ${size(total)}`;
  at("progress").value = stage === "opening" ? 0 : loaded / total;
}

function present({ info, chatTemplate }) {
  at("model-name").textContent = info.name;
  const formats = Object.keys(info.formats).slice(0, 3).join(", ");
  const [weights, trained] = [info.parameters, info.trainedLength].map((number) => number.toLocaleString("en"));
  const facts = [
    info.architecture,
    `${weights} weights as ${formats}`,
    size(info.memory.weights),
    `trained on ${trained} tokens`,
  ];
  const note = chatTemplate === undefined ? " It has no chat template: it goes on with what you write." : "";
  at("model-facts").textContent = `${facts.join(" · ")}.${note}`;
  at("log").replaceChildren();
  at("speed").textContent = "–";
  stretch.replaceChildren(
    ...conversation
      .lengths()
      .map(({ length, label }) => new Option(label, length, false, length === info.contextLength)),
  );
  tellState();
}

function tellState() {
  const { length, contextLength, rope } = conversation.session;
  at("rope").textContent = describeRope(rope);
  at("context").textContent = `${length.toLocaleString("en")} of ${contextLength.toLocaleString("en")}`;
  at("used").value = length / contextLength;
}

async function answer(text) {
  answering = new AbortController();
  const { signal } = answering;
  const talk = conversation;
  setBusy(true);
  write("user", text);
  const line = write("assistant", "");
  const options = { maxTokens: maxTokens.valueAsNumber, temperature: temperature.valueAsNumber, signal };
  let [count, start] = [0, 0];
  const tell = () => {
    tellState();
    if (count > 1) at("speed").textContent = speed(count - 1, performance.now() - start);
  };
  try {
    for await (const piece of talk.say(text, options)) {
      if (count++ === 0) start = performance.now(); // the first token waits for the prompt
      line.append(line.textContent === "" ? piece.text.trimStart() : piece.text);
      at("log").scrollTop = at("log").scrollHeight;
      tell();
      if (piece.finish === "full") write("note", "The context is full. Choose a longer one above, or begin anew.");
      if (piece.finish === "length") write("note", "As long as it may be. Say something to go on.");
    }
  } catch (error) {
    if (signal.aborted) write("note", "Stopped.");
    else if (talk === conversation) report(error);
  } finally {
    answering = undefined;
    if (line.textContent === "") Object.assign(line, { className: "note", textContent: "An answer without words." });
    if (talk === conversation) tellState();
    setBusy(false);
  }
}

function write(kind, text) {
  const line = at("log").appendChild(document.createElement("li"));
  line.className = kind;
  line.textContent = text;
  at("log").scrollTop = at("log").scrollHeight;
  return line;
}

function setBusy(isBusy) {
  at("send").disabled = isBusy;
  at("stop").disabled = !isBusy;
  at("anew").disabled = isBusy;
  if (!isBusy) at("message").focus();
}

function show(parts) {
  for (const [id, isShown] of Object.entries(parts)) at(id).hidden = !isShown;
}

function report({ message }) {
  at("problem").textContent = message;
  show({ problem: true });
}

/** Does something that may fail, and says so. */
async function attempt(act) {
  show({ problem: false });
  try {
    await act();
  } catch (error) {
    report(error);
  }
}

for (const id of ["files", "folder"]) {
  at(id).addEventListener("change", async ({ target }) => {
    const files = [...target.files];
    if (files.length > 0) await open(() => files);
    target.value = ""; // the same may be chosen again
  });
}
at("small").addEventListener("click", async () => {
  await open((signal) => fetchSmallModel("", signal));
  at("message").value = "The red ball is in the garden. The blue book is in the attic. Where is the red ball?";
});
at("cancel").addEventListener("click", () => opening?.abort());
at("stop").addEventListener("click", () => answering?.abort());
at("anew").addEventListener("click", () =>
  attempt(async () => {
    await conversation.clear();
    at("log").replaceChildren();
    tellState();
  }),
);
stretch.addEventListener("change", () =>
  attempt(async () => {
    await conversation.stretch(Number(stretch.value));
    tellState();
  }),
);

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("message").value;
  if (answering !== undefined || text.trim() === "" || !at("settings").reportValidity()) return;
  at("message").value = "";
  show({ problem: false });
  void answer(text);
});
at("message").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("composer").requestSubmit();
});

// dropping beside the place for it would leave the page
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
for (const [type, isOver] of [
  ["dragenter", true],
  ["dragover", true],
  ["dragleave", false],
  ["drop", false],
]) {
  at("drop").addEventListener(type, () => at("drop").classList.toggle("over", isOver));
}
at("drop").addEventListener("drop", ({ dataTransfer }) =>
  attempt(async () => {
    const files = await filesOfDrop(dataTransfer);
    if (files.length > 0) await open(() => files);
  }),
);
