// The page: diagnoses a bundled config, or what the reader drops, pastes or names. What is open stays until the next one could be read.
import type { ModelSource } from "ropewalk";
import { type Diagnosis, diagnose } from "ropewalk/doctor";
import { readAddress, writeAddress } from "../page/address.js";
import { exampleFiles } from "../page/configs.js";
import { filesOfDrop } from "../page/dropped.js";
import { find } from "../page/elements.js";
import { runtime } from "../page/runtime.js";
import { reportParts } from "./report.js";

type Source = ModelSource | Readonly<Record<string, unknown>>;

/** What is diagnosed, and its name for the heading. */
interface Open {
  readonly source: Source;
  readonly name: string | undefined;
}

/** Readers type a length digit by digit. */
const PAUSE_MS = 250;

const form = find<HTMLFormElement>("#doctor");
const list = form.elements.namedItem("example") as HTMLSelectElement;
const length = form.elements.namedItem("length") as HTMLInputElement;
const problem = find("#problem");
const report = find("#report");

let open: Open | undefined;
let opening: AbortController | undefined;

/** Diagnoses, and shows the result. If it fails, what was open stays open. */
async function show(next: Open): Promise<void> {
  opening?.abort();
  const { signal } = (opening = new AbortController());
  report.setAttribute("aria-busy", "true");
  try {
    if (!length.checkValidity()) throw new Error("The length must be a whole number of tokens, from 1.");
    const rw = await runtime();
    const options = length.value === "" ? {} : { length: Number(length.value) };
    const diagnosis = await diagnose(rw, next.source, { ...options, signal });
    if (signal.aborted) return;
    open = next;
    problem.hidden = true;
    showReport(diagnosis, next.name ?? diagnosis.name);
  } catch (error) {
    if (signal.aborted) return;
    const { message } = error as Error;
    const kept = `The report below is still that of ${find("#model").textContent}.`;
    problem.textContent = open === undefined ? message : `${message.replace(/\.?$/, ".")} ${kept}`;
    problem.hidden = false;
    if (open?.name !== undefined && next !== open) selectOpen(open);
  }
  report.setAttribute("aria-busy", "false");
}

function showReport(diagnosis: Diagnosis, name: string): void {
  const { verdict, family } = diagnosis;
  find("#model").textContent = family === null || family === name ? name : `${name} (${family})`;
  const shown = find("#verdict");
  shown.dataset["status"] = verdict.status;
  if (shown.textContent.trim() !== verdict.text) shown.textContent = verdict.text;
  find("#parts").replaceChildren(...reportParts(diagnosis));
}

/** Shows what the list names, or the reader's own file, which the list calls "your file". */
function showChosen(): void {
  const example = exampleFiles.find(({ id }) => id === list.value);
  if (example !== undefined) void show({ source: example.config, name: example.name });
  else if (open !== undefined) void show(open);
}

function selectOpen({ name }: Open): void {
  const example = exampleFiles.find((file) => file.name === name);
  if (example !== undefined) list.value = example.id;
}

/** Diagnoses the reader's own file, and adds it to the list. */
async function showOwn(source: Source): Promise<void> {
  const own: Open = { source, name: undefined };
  await show(own);
  if (open !== own) return;
  list.querySelector("[data-own]")?.remove();
  const option = new Option(find("#model").textContent, "own");
  option.dataset["own"] = "";
  list.prepend(option);
  option.selected = true;
}

async function showFiles(files: readonly File[]): Promise<void> {
  if (files.length > 0) await showOwn(files.length === 1 ? files[0]! : files);
}

list.replaceChildren(
  ...exampleFiles.map(({ id, name }) => new Option(name, id, id === "qwen2.5-7b", id === "qwen2.5-7b")),
);
readAddress("doctor", form);
showChosen();

let timer: ReturnType<typeof setTimeout> | undefined;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", ({ target }) => {
  writeAddress("doctor", form);
  clearTimeout(timer);
  timer = setTimeout(showChosen, target === length ? PAUSE_MS : 0);
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
  void showOwn(String(new FormData(event.target as HTMLFormElement).get("address")));
});

find<HTMLFormElement>("#by-text").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = String(new FormData(event.target as HTMLFormElement).get("text"));
  void showOwn(new File([text], "config.json"));
});

// a file dropped outside the drop zone would replace the page
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
const drop = find("#drop");
for (const type of ["dragenter", "dragover", "dragleave", "drop"])
  drop.addEventListener(type, () => drop.classList.toggle("over", type === "dragenter" || type === "dragover"));
addEventListener("drop", ({ dataTransfer }) => {
  if (dataTransfer !== null) void filesOfDrop(dataTransfer).then(showFiles);
});
