// The page past the window: a model reads while its method is switched, and recorded cells are measured again.
import { load, type WorkerModel, type WorkerRopewalk } from "ropewalk/worker";
import type { Cell } from "../../../examples/arena/measure.mjs";
import { caches, methods } from "../../../examples/arena/methods.mjs";
import { controlOf, numberIn } from "../page/controls.js";
import { find } from "../page/elements.js";
import { rarely } from "../page/rarely.js";
import { fetchSmallModel, SMALL_MODEL_BYTES } from "../page/small_model.js";
import { bytesText, speedText } from "../page/units.js";
import { cellsHere, chosenCell, fetchCells, fillChoices, measureAgain, showResult } from "./cells.js";
import { colorOf, drawLoss } from "./loss_chart.js";
import { LENGTH, Reading } from "./reading.js";

/** Charts are drawn at most this often while a story is read. */
const DRAW_MS = 150;

const form = find<HTMLFormElement>("#reading");
const cellForm = find<HTMLFormElement>("#cell");
const [start, pause, again] = ["#start", "#pause", "#again"].map((id) => find<HTMLButtonElement>(id)) as [
  HTMLButtonElement,
  HTMLButtonElement,
  HTMLButtonElement,
];

let rw: WorkerRopewalk | undefined;
let file: File | undefined;
let model: WorkerModel | undefined;
let reading: Reading | undefined;
let startedAt = 0;
let refused = "";

for (const [name, { label, shift, weights }] of Object.entries(methods)) {
  if (weights !== undefined) continue; // needs a fine-tune
  if (shift === true) continue; // drops tokens: nothing that a switch of the RoPE could undo
  const radio = Object.assign(document.createElement("input"), { type: "radio", name: "method", value: name });
  radio.defaultChecked = name === "none";
  const choice = document.createElement("label");
  choice.style.setProperty("--method", colorOf(name));
  choice.append(radio, label);
  find("#methods").append(choice);
}
const dtypes = new Set(Object.values(caches).map((kv) => kv!.dtype!));
controlOf<HTMLSelectElement>(form, "cache").append(...[...dtypes].map((name) => new Option(name, name)));

const chosenMethod = (): string => String(new FormData(form).get("method"));

function say(text: string): void {
  const state = find("#state");
  if (state.textContent !== text) state.textContent = text;
}

function fail(error: unknown): void {
  const problem = find("#problem");
  problem.textContent = (error as Error).message;
  problem.hidden = false;
}

/** Downloads the model once, for both parts of the page. */
async function loadedFile(): Promise<File> {
  file ??= await fetchSmallModel();
  rw ??= await load({ build: "simd", threads: 1 }); // the same bits everywhere, so the numbers of the tables
  return file;
}

/** Reads a story from its beginning, with the cache that is chosen. */
async function readAgain(): Promise<void> {
  reading?.stop();
  find("#problem").hidden = true;
  refused = "";
  const source = await loadedFile();
  await model?.dispose();
  // raw keys can be read under every method; rotated ones refuse position maps
  const kv = { ...caches[controlOf<HTMLSelectElement>(form, "cache").value]!, keys: "raw" } as const;
  model = await rw!.model([source], { kv, contextLength: LENGTH });
  const mine = new Reading(model, Math.max(1, Math.round(numberIn(form, "seed"))), chosenMethod, (method, problem) => {
    refused = ` ${methods[method]!.label} can't be switched to here: ${problem.message}`;
    const before = mine.read.stretches.at(-1)?.method ?? "none";
    find<HTMLInputElement>(`#methods input[value="${before}"]`).checked = true;
  });
  reading = mine;
  startedAt = performance.now();
  const drawRarely = rarely(DRAW_MS, draw);
  await mine.run(() => {
    if (reading === mine) drawRarely();
  });
  if (reading === mine) draw();
}

function draw(): void {
  if (reading === undefined) return;
  const { read, isPaused, isFinished, bytes } = reading;
  drawLoss(find("#loss"), read);
  pause.hidden = isFinished;
  pause.textContent = isPaused ? "Read on" : "Pause";
  again.hidden = false;
  const last = read.stretches.at(-1);
  const switched =
    last?.milliseconds === undefined
      ? ""
      : ` Switched to ${methods[last.method]!.label} at token ${last.from.toLocaleString("en")} in ${last.milliseconds.toFixed(1)} ms.`;
  const speed = isPaused ? "" : `, ${speedText(read.losses.length, performance.now() - startedAt)}`;
  say(
    `${read.losses.length.toLocaleString("en")} of ${LENGTH.toLocaleString("en")} tokens${speed}, cache of ${bytesText(bytes)}.${switched}${refused}`,
  );
}

start.textContent = `Load the model and read (${bytesText(SMALL_MODEL_BYTES)})`;
start.addEventListener("click", () => {
  start.disabled = true;
  say("Loading the model …");
  readAgain()
    .catch(fail)
    .finally(() => (start.disabled = false));
  start.hidden = true;
});
again.addEventListener("click", () => void readAgain().catch(fail));
pause.addEventListener("click", () => {
  if (reading !== undefined) reading.isPaused = !reading.isPaused;
  draw();
});
// the method is asked for before each token; another cache or story begins anew
form.addEventListener("change", ({ target }) => {
  if (target instanceof HTMLInputElement && target.name === "method") return;
  if (reading !== undefined) void readAgain().catch(fail);
});
form.addEventListener("submit", (event) => event.preventDefault());

/** Fills the second part with what is recorded. */
async function prepareCells(): Promise<void> {
  const all = await fetchCells();
  const cells = cellsHere(all);
  fillChoices(cellForm, cells);
  cellForm.addEventListener("change", () => fillChoices(cellForm, cells));
  cellForm.addEventListener("submit", (event) => {
    event.preventDefault();
    void measureChosen(chosenCell(cellForm, cells), all).catch(fail);
  });
}

async function measureChosen(cell: Cell, all: readonly Cell[]): Promise<void> {
  const [button, state] = [find<HTMLButtonElement>("button", cellForm), find("#cell-state")];
  button.disabled = true;
  state.textContent = "Measuring …";
  const begun = performance.now();
  try {
    if (reading !== undefined && !reading.isFinished) reading.isPaused = true; // one thread for both
    const here = await measureAgain(rw ?? (await loadedFile(), rw!), await loadedFile(), cell, all);
    showResult(find<HTMLTableElement>("#result"), cell, here);
    state.textContent = `Measured in ${((performance.now() - begun) / 1000).toFixed(1)} s.`;
  } finally {
    button.disabled = false;
    draw();
  }
}

void prepareCells().catch(fail);
