// The page: diagnoses a bundled config, or what the reader drops, pastes or names. A report is only shown for what was asked for last.
import { type Diagnosis, parseTokenCount } from "ropewalk/doctor";
import { exampleFiles } from "../page/configs.js";
import { filesOfDrop } from "../page/dropped.js";
import { find } from "../page/elements.js";
import { modelAddress } from "../page/model_address.js";
import { NOT_ADDRESS } from "../page/problem.js";
import { ask } from "./ask.js";
import type { Question } from "./diagnosis_worker.js";
import { linesPart } from "./lines.js";
import { memoryPart } from "./memory.js";
import { reportParts } from "./report.js";
import { type Given, readGiven, readNumbers, writeState } from "./state.js";

/** Readers type a length digit by digit. */
const PAUSE_MS = 250;

/** The example that the page's HTML shows. */
const FIRST = "qwen2.5-7b";

/** The value of the reader's own model in the list. */
const OWN = "own";

/** The longest length that can be diagnosed. */
const MAX_TOKENS = 2 ** 30;

/** Larger .json files are no config.json. */
const MAX_BYTES = 2 ** 20;

const form = find<HTMLFormElement>("#doctor");
const control = (name: string): HTMLInputElement => form.elements.namedItem(name) as HTMLInputElement;
const list = form.elements.namedItem("example") as HTMLSelectElement;
const [length, trained] = [control("length"), control("trained")];
const [report, opening] = [find("#report"), find("#opening")];

/** What was asked for last. */
let given: Given | undefined;
/** What was diagnosed last, to go back to after a failure. */
let open: Given | undefined;
/** The reader's own, in the list of models. */
let own: Given | undefined;
let turn = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Diagnoses, and shows the answer: it may be below what the reader touched. */
async function show(next: Given): Promise<void> {
  clearTimeout(timer); // a change of the length before this was about another model
  const isOpened = given !== undefined && given !== next && next.kind !== "example";
  const answered = diagnosed(next);
  if (isOpened && !opening.hidden) reveal();
  await answered;
  if (isOpened && given === next) reveal();
}

function reveal(): void {
  const answer = ["#opening", "#problem", "#trained", "#report"].map((id) => find(id)).find(({ hidden }) => !hidden);
  const { top = 0 } = answer?.getBoundingClientRect() ?? {};
  if (top < 0 || top > innerHeight / 2) answer?.scrollIntoView({ block: "start" });
}

async function diagnosed(next: Given): Promise<void> {
  const mine = ++turn;
  if (given !== undefined && given !== next) {
    trained.value = ""; // it was that of another model
    find("#trained").hidden = true;
  }
  given = next;
  find("#not-linked").hidden = writeState(next, FIRST, [length, trained]);
  if (next.kind === "lost") {
    fail(`This link is about a file, ${next.name}, which isn't in the link. Open the file here.`);
    return;
  }
  if (![length, trained].map(readTokens).every(Boolean)) {
    report.setAttribute("aria-busy", "true"); // what it says isn't about what the fields have
    return;
  }
  if (next.kind === "address" && !URL.canParse(next.address)) {
    fail(NOT_ADDRESS);
    return;
  }
  report.setAttribute("aria-busy", "true");
  opening.hidden = next.kind !== "address" || open === next;
  if (!opening.hidden) {
    opening.textContent = `Opening ${next.kind === "address" ? next.address : ""} …`;
    report.hidden = true;
    find("#problem").hidden = true;
  }
  const answer = await ask({
    source: sourceOf(next),
    ...(next.kind === "text" && next.name === undefined && { shownAs: "The pasted text" }),
    options: { ...numberIn("length", length), ...numberIn("trainedLength", trained) },
  });
  if (answer === undefined || mine !== turn) return;
  opening.hidden = true;
  if ("problem" in answer) {
    fail(answer.problem);
    return;
  }
  open = next;
  find("#problem").hidden = true;
  showReport(answer.diagnosis, nameOf(next) ?? answer.diagnosis.name);
}

function numberIn(key: keyof Question["options"], { value }: HTMLInputElement): Question["options"] {
  const tokens = parseTokenCount(value);
  return tokens === undefined ? {} : { [key]: tokens };
}

/** Shows beside a field what its text is read as, or what is wrong with it. Returns whether it can be used: it may be empty. */
function readTokens(input: HTMLInputElement): boolean {
  const tokens = parseTokenCount(input.value);
  const isEmpty = input.value.trim() === "";
  const isRight = isEmpty || (tokens !== undefined && tokens >= 1 && tokens <= MAX_TOKENS);
  const shown = find<HTMLOutputElement>(`#${input.name}-read`);
  const range = "From 1 to 1,073,741,824 tokens, please.";
  const wrong = tokens === undefined ? "Not a number of tokens. Write 100,000, 100k or 128K." : range;
  shown.value = isRight ? (isEmpty ? "" : `${tokens!.toLocaleString("en")} tokens`) : wrong;
  shown.classList.toggle("wrong", !isRight);
  input.setAttribute("aria-invalid", String(!isRight));
  return isRight;
}

/** Shows only the message, with a way back to the last report. */
function fail(message: string): void {
  find("#problem-text").textContent = message;
  const back = find<HTMLButtonElement>("#back");
  back.hidden = open === undefined || open === given;
  back.textContent = `Back to ${find("#model").textContent}`;
  find("#problem").hidden = false;
  find("#not-linked").hidden = true;
  report.hidden = true;
  report.setAttribute("aria-busy", "false");
}

function showReport(diagnosis: Diagnosis, name: string): void {
  const { verdict, support, family, findings } = diagnosis;
  showInList(name);
  find("#model").textContent = family === null || family === name ? name : `${name} (${family})`;
  const shown = find("#verdict");
  shown.dataset["status"] = verdict.status;
  if (shown.textContent.trim() !== verdict.text) shown.textContent = verdict.text;
  find("#support").textContent = support.text;
  find("#memory").replaceChildren(...memoryPart(diagnosis));
  find("#lines").replaceChildren(...linesPart(diagnosis));
  find("#parts").replaceChildren(...reportParts(diagnosis));
  const isMissing = findings.some(({ code }) => code === "trained-length-missing");
  find("#trained").hidden = !isMissing && trained.value === "";
  report.hidden = false;
  report.setAttribute("aria-busy", "false");
}

/** The list of models names what is open, the reader's own too. */
function showInList(name: string): void {
  if (open === undefined || open.kind === "example") {
    list.value = open?.id ?? FIRST;
    return;
  }
  own = open;
  list.querySelector(`[value=${OWN}]`)?.remove();
  list.prepend(new Option(name, OWN));
  list.value = OWN;
}

function sourceOf(given: Exclude<Given, { kind: "lost" }>): Question["source"] {
  if (given.kind === "example") return exampleFiles.find(({ id }) => id === given.id)!.config;
  if (given.kind === "address") return given.address;
  if (given.kind === "text") return new File([given.text], given.name ?? "config.json");
  return given.files.length === 1 ? given.files[0]! : given.files;
}

function nameOf(given: Given): string | undefined {
  return given.kind === "example" ? exampleFiles.find(({ id }) => id === given.id)?.name : undefined;
}

async function showFiles(files: readonly File[]): Promise<void> {
  const [first, ...others] = files;
  if (first === undefined) return;
  const isConfig = others.length === 0 && first.name.endsWith(".json") && first.size <= MAX_BYTES;
  // the text of a config.json can be in a link
  await show(isConfig ? { kind: "text", text: await first.text(), name: first.name } : { kind: "files", files });
}

list.replaceChildren(...exampleFiles.map(({ id, name }) => new Option(name, id, id === FIRST, id === FIRST)));
readNumbers([length, trained]);
const start = readGiven(exampleFiles.map(({ id }) => id)) ?? { kind: "example", id: FIRST };
report.hidden = start.kind !== "example" || start.id !== FIRST; // the HTML has the report on the first example
void show(start);

form.addEventListener("submit", (event) => event.preventDefault());
const changed = ({ target }: Event): void => {
  clearTimeout(timer);
  const chosen: Given | undefined = list.value === OWN ? own : { kind: "example", id: list.value };
  const next = target === list ? chosen : given;
  if (next !== undefined) timer = setTimeout(() => void show(next), target === list ? 0 : PAUSE_MS);
};
form.addEventListener("input", changed);
find("#trained").addEventListener("input", changed);
find("#back").addEventListener("click", () => {
  if (open !== undefined) void show(open);
});

for (const id of ["#files", "#folder"]) {
  const input = find<HTMLInputElement>(id);
  input.addEventListener("change", () => {
    const isDirect = ({ webkitRelativePath }: File): boolean => webkitRelativePath.split("/").length <= 2;
    void showFiles([...(input.files ?? [])].filter(isDirect));
    input.value = ""; // so that the same file can be chosen again
  });
}

find<HTMLFormElement>("#by-address").addEventListener("submit", (event) => {
  event.preventDefault();
  const address = modelAddress(String(new FormData(event.target as HTMLFormElement).get("address")));
  void show({ kind: "address", address });
});

find<HTMLFormElement>("#by-text").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = String(new FormData(event.target as HTMLFormElement).get("text"));
  void show({ kind: "text", text });
});

// a file dropped outside the drop zone would replace the page
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
const drop = find("#drop");
for (const type of ["dragenter", "dragover", "dragleave", "drop"])
  drop.addEventListener(type, () => drop.classList.toggle("over", type === "dragenter" || type === "dragover"));
addEventListener("drop", ({ dataTransfer }) => {
  if (dataTransfer !== null) void filesOfDrop(dataTransfer).then(showFiles);
});
