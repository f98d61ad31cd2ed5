// The page: opens models that the reader drops, chooses or downloads, and connects the parts that work with the open one.
import { QUANTIZE_FORMATS, type QuantizeFormat, type WorkerModel } from "ropewalk/worker";
import { readAddress, writeAddress } from "../page/address.js";
import { modelAddress, modelName } from "../page/model_address.js";
import { find, withText } from "../page/elements.js";
import { runtime } from "../page/runtime.js";
import { fetchSmallModel } from "../page/small_model.js";
import { Chat } from "./chat.js";
import { Conversation } from "./conversation.js";
import { offerReload, showDevice } from "./device.js";
import { filesOfDrop } from "../page/dropped.js";
import { showKept } from "./kept.js";
import { Opener, type Failure, type Wanted } from "./opener.js";
import { startPerplexity } from "./perplexity.js";
import { TextSearch } from "./search_texts.js";

const EXAMPLE = "The red ball is in the garden. The blue book is in the attic. Where is the red ball?";
const [settings, byAddress] = [find<HTMLFormElement>("#settings"), find<HTMLFormElement>("#by-address")];
const wantedContext = new URLSearchParams(location.search).get("models.context");
const opening = find<HTMLFormElement>("#opening");
const opener = new Opener();
const chat = new Chat((error) => report(error.message));
const search = new TextSearch();
/** The open model. */
const openModel = (): WorkerModel | undefined => chat.conversation?.model ?? search.model;

async function open(wanted: Wanted, afterwards?: () => void): Promise<void> {
  find("#problem").hidden = true;
  find("#loading").hidden = false;
  const result = await opener.open(wanted, chosenFormat(), (text, share) => {
    find("#loaded").textContent = text;
    find<HTMLProgressElement>("#progress").value = share;
  });
  if (result === undefined) return;
  find("#loading").hidden = true;
  if ("message" in result) {
    reportFailure(result, wanted);
    return;
  }
  const { rw, model } = result;
  try {
    if (model.info.generates) {
      await search.close();
      await chat.begin(await Conversation.begin(rw, model), wantedContext);
    } else {
      chat.close();
      await search.begin(rw, model);
    }
    await showDecisions(model);
    await showDevice(rw, { threads: rw.threads, memoryBytes: await rw.memoryBytes });
    afterwards?.();
    find(model.info.generates ? "#message" : "#query").focus();
  } catch (error) {
    report((error as Error).message);
  }
  await listKept();
}

/** Shows the typed questions, if the model can be asked: one that chats, or a decision checkpoint. */
async function showDecisions(model: WorkerModel): Promise<void> {
  const canDecide = model.info.decides || Object.keys(model.chatTemplates).length > 0;
  find("#decide").hidden = !canDecide;
  if (canDecide) (await import("./decide.js")).beginDecisions(model);
}

function reportFailure(failure: Failure, wanted: Wanted): void {
  const actions: [string, () => void][] = wanted.isFile
    ? []
    : [[failure.canResume ? "Resume" : "Try again", () => void open(wanted)]];
  const current = openModel();
  if (failure.isOutOfMemory && current !== undefined)
    actions.push([
      "Close the open model and try again",
      () => {
        chat.close();
        void search.close();
        find("#decide").hidden = true;
        void open(wanted);
      },
    ]);
  const kept = current === undefined ? "" : ` ${current.info.name} stays open.`;
  report(`${failure.message}${kept}`, actions);
  void listKept();
}

/** The format that the reader chose, for a model that is opened now. */
function chosenFormat(): QuantizeFormat | undefined {
  const { value } = find<HTMLSelectElement>("[name=quantize]", opening);
  return QUANTIZE_FORMATS.find((format) => format === value);
}

/** Shows a message with ways on. */
function report(text: string, actions: [string, () => void][] = []): void {
  find("#problem-text").textContent = text;
  find("#problem-actions").replaceChildren(
    ...actions.map(([name, action]) => Object.assign(withText("button", name), { type: "button", onclick: action })),
  );
  find("#problem").hidden = false;
  find("#problem").scrollIntoView({ block: "nearest" });
}

async function openAddress(address: string): Promise<void> {
  const name = modelName(address);
  if (name !== undefined) {
    await open({ source: () => name, address: name });
    return;
  }
  // the address of a file's page, as people copy it
  const file = modelAddress(address);
  await open({ source: () => new URL(file, location.href), address: file });
}

async function listKept(): Promise<void> {
  try {
    await showKept(await runtime(), (address) => void openAddress(address));
  } catch {
    find("#kept").hidden = true; // a browser that refuses storage has nothing to list
  }
}

for (const id of ["files", "folder"]) {
  const input = find<HTMLInputElement>(`#${id}`);
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    if (files.length > 0) void open({ source: () => files, isFile: true });
    input.value = ""; // so that the same file can be chosen again
  });
}
find("#small").addEventListener("click", () => {
  void open({ source: async (signal) => [await fetchSmallModel(signal)] }, () => {
    find<HTMLTextAreaElement>("#message").value = EXAMPLE;
  });
});
find("#cancel").addEventListener("click", () => opener.stop());
byAddress.addEventListener("submit", (event) => {
  event.preventDefault();
  void openAddress(find<HTMLInputElement>("[name=address]", byAddress).value.trim());
});

const drop = find("#drop");
for (const type of ["dragenter", "dragover", "dragleave", "drop"])
  drop.addEventListener(type, (event) => {
    event.preventDefault(); // also over its inputs
    drop.classList.toggle("over", type === "dragenter" || type === "dragover");
  });
drop.addEventListener("drop", ({ dataTransfer }) => {
  if (dataTransfer === null) return;
  filesOfDrop(dataTransfer).then(
    (files) => {
      if (files.length > 0) void open({ source: () => files, isFile: true });
    },
    (error: unknown) => report((error as Error).message),
  );
});

for (const form of [settings, byAddress, opening]) {
  readAddress("models", form);
  form.addEventListener("input", () => writeAddress("models", form));
}
startPerplexity(() => chat.conversation);
void offerReload();
try {
  const rw = await runtime();
  await showDevice(rw);
  await listKept();
} catch (error) {
  report((error as Error).message, [["Load the page again", () => location.reload()]]);
}
