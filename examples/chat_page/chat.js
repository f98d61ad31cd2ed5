// The page: opens a model that the user drops or chooses, and chats with it.
import { Conversation } from "./conversation.js";
import { filesOfDrop } from "./dropped.js";
import { describeRope, size, speed } from "../model_text.js";
import { fetchSmallModel } from "../small_model/fetched.mjs";
import { load } from "../../dist/worker.js";

const byId = (id) => document.getElementById(id);
const { stretch, maxTokens, temperature } = byId("settings").elements;

let conversation; // with the open model
let opening; // AbortController while a model is opening
let answering; // AbortController while an answer is generated

/** @param getFiles - returns the model's files, or a promise of them; gets the abort signal. */
async function open(getFiles) {
  if (opening !== undefined) return;
  opening = new AbortController();
  const { signal } = opening;
  answering?.abort();
  let rw;
  try {
    show({ drop: false, loading: true, chat: false, problem: false });
    await conversation?.end();
    conversation = undefined;
    showProgress({ stage: "opening", loaded: 0, total: 1 });
    const files = await getFiles(signal);
    rw = await load({ signal });
    const model = await rw.model(files, { signal, onProgress: showProgress });
    conversation = await Conversation.begin(rw, model);
    present(model);
  } catch (error) {
    await rw?.dispose(); // its wasm memory never shrinks
    if (!signal.aborted) report(error);
  } finally {
    opening = undefined;
    show({ drop: true, loading: false, chat: conversation !== undefined });
  }
  if (conversation !== undefined) byId("message").focus();
}

function showProgress({ stage, loaded, total }) {
  byId("loaded").textContent = stage === "opening" ? "Opening …" : `Loading weights: ${size(loaded)} of ${size(total)}`;
  byId("progress").value = stage === "opening" ? 0 : loaded / total;
}

function present({ info, chatTemplate }) {
  byId("model-name").textContent = info.name;
  const formats = Object.keys(info.formats).slice(0, 3).join(", ");
  const [weights, trained] = [info.parameters, info.trainedLength].map((number) => number.toLocaleString("en"));
  const facts = [
    info.architecture,
    `${weights} weights in ${formats}`,
    size(info.memory.weights),
    `trained on ${trained} tokens`,
  ];
  const note = chatTemplate === undefined ? " It has no chat template, so it continues the text that you write." : "";
  byId("model-facts").textContent = `${facts.join(" · ")}.${note}`;
  byId("log").replaceChildren();
  byId("speed").textContent = "–";
  stretch.replaceChildren(
    ...conversation
      .lengths()
      .map(({ length, label }) => new Option(label, length, false, length === info.contextLength)),
  );
  showState();
}

function showState() {
  const { length, contextLength, rope } = conversation.session;
  byId("rope").textContent = describeRope(rope);
  byId("context").textContent = `${length.toLocaleString("en")} of ${contextLength.toLocaleString("en")}`;
  byId("used").value = length / contextLength;
}

async function answer(text) {
  answering = new AbortController();
  const { signal } = answering;
  const current = conversation;
  setBusy(true);
  write("user", text);
  const line = write("assistant", "");
  const options = { maxTokens: maxTokens.valueAsNumber, temperature: temperature.valueAsNumber, signal };
  let [count, start] = [0, 0];
  const showSpeed = () => {
    showState();
    if (count > 1) byId("speed").textContent = speed(count - 1, performance.now() - start);
  };
  try {
    for await (const piece of current.say(text, options)) {
      if (count++ === 0) start = performance.now(); // don't count the prompt
      line.append(line.textContent === "" ? piece.text.trimStart() : piece.text);
      byId("log").scrollTop = byId("log").scrollHeight;
      showSpeed();
      if (piece.finish === "full")
        write("note", "The context is full. Choose a longer context above, or start a new chat.");
      if (piece.finish === "length")
        write("note", "Stopped at the maximum number of tokens. Send a message to continue.");
    }
  } catch (error) {
    if (signal.aborted) write("note", "Stopped.");
    else if (current === conversation) report(error);
  } finally {
    answering = undefined;
    if (line.textContent === "") Object.assign(line, { className: "note", textContent: "(empty answer)" });
    if (current === conversation) showState();
    setBusy(false);
  }
}

function write(kind, text) {
  const line = byId("log").appendChild(document.createElement("li"));
  line.className = kind;
  line.textContent = text;
  byId("log").scrollTop = byId("log").scrollHeight;
  return line;
}

function setBusy(isBusy) {
  byId("send").disabled = isBusy;
  byId("stop").disabled = !isBusy;
  byId("new-chat").disabled = isBusy;
  if (!isBusy) byId("message").focus();
}

function show(parts) {
  for (const [id, isShown] of Object.entries(parts)) byId(id).hidden = !isShown;
}

function report({ message }) {
  byId("problem").textContent = message;
  show({ problem: true });
}

/** Runs an action and reports its error. */
async function attempt(action) {
  show({ problem: false });
  try {
    await action();
  } catch (error) {
    report(error);
  }
}

for (const id of ["files", "folder"]) {
  byId(id).addEventListener("change", async ({ target }) => {
    const files = [...target.files];
    if (files.length > 0) await open(() => files);
    target.value = ""; // so that the same file can be chosen again
  });
}
byId("small").addEventListener("click", async () => {
  await open((signal) => fetchSmallModel("", signal));
  byId("message").value = "The red ball is in the garden. The blue book is in the attic. Where is the red ball?";
});
byId("cancel").addEventListener("click", () => opening?.abort());
byId("stop").addEventListener("click", () => answering?.abort());
byId("new-chat").addEventListener("click", () =>
  attempt(async () => {
    await conversation.clear();
    byId("log").replaceChildren();
    showState();
  }),
);
stretch.addEventListener("change", () =>
  attempt(async () => {
    await conversation.setContextLength(Number(stretch.value));
    showState();
  }),
);

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("message").value;
  if (answering !== undefined || text.trim() === "" || !byId("settings").reportValidity()) return;
  byId("message").value = "";
  show({ problem: false });
  void answer(text);
});
byId("message").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("composer").requestSubmit();
});

// a file dropped outside the drop zone would replace the page
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
for (const [type, isOver] of [
  ["dragenter", true],
  ["dragover", true],
  ["dragleave", false],
  ["drop", false],
]) {
  byId("drop").addEventListener(type, () => byId("drop").classList.toggle("over", isOver));
}
byId("drop").addEventListener("drop", ({ dataTransfer }) =>
  attempt(async () => {
    const files = await filesOfDrop(dataTransfer);
    if (files.length > 0) await open(() => files);
  }),
);
