// The recorded cells of the small model in Q8_0, which is the file of this page, and the form that chooses one of them.
import recorded from "../../../examples/arena/results/cells.jsonl?url";
import { story } from "../../../examples/arena/languages.mjs";
import { type Cell, measureCell } from "../../../examples/arena/measure.mjs";
import { methods } from "../../../examples/arena/methods.mjs";
import { tasks } from "../../../examples/arena/tasks.mjs";
import { TRAINED_LENGTH } from "../../../examples/small_model/texts.mjs";
import type { WorkerRopewalk } from "ropewalk/worker";
import { controlOf } from "../page/controls.js";
import { find, shown, withText } from "../page/elements.js";
import { fetchFile } from "../page/small_model.js";
import { LENGTH } from "./reading.js";

const MODEL = "small";
const WEIGHTS = "q8_0";
/** What a reader chooses, in this order: each list has what is recorded for the choices before it. */
const CHOICES = ["method", "cache", "multiple", "task", "seed"] as const;
type Choice = (typeof CHOICES)[number];

/** All recorded cells. */
export async function fetchCells(): Promise<Cell[]> {
  const file = await fetchFile(recorded, "The table of cells");
  const lines = (await file.text()).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Cell);
}

/** What is recorded of the model in this page. */
export const cellsHere = (cells: readonly Cell[]): Cell[] =>
  cells.filter(({ model, weights, task }) => model === MODEL && weights === WEIGHTS && task !== "judge");

/** Fills the lists of a form, and keeps what is chosen where it is recorded. */
export function fillChoices(form: HTMLFormElement, cells: readonly Cell[]): void {
  let rest = cells;
  for (const choice of CHOICES) {
    const select = controlOf<HTMLSelectElement>(form, choice);
    const found = [...new Set(rest.map((cell) => String(cell[choice])))];
    const before = select.value;
    select.replaceChildren(...found.map((value) => new Option(labelOf(choice, value), value)));
    select.value = found.includes(before) ? before : found[0]!;
    rest = rest.filter((cell) => String(cell[choice]) === select.value);
  }
}

function labelOf(choice: Choice, value: string): string {
  if (choice === "method") return methods[value]!.label;
  if (choice === "task") return tasks[value]!.label;
  if (choice === "multiple") return `${value}× (${shown(Number(value) * TRAINED_LENGTH)} tokens)`;
  return value;
}

/** The recorded cell that a form chooses. */
export const chosenCell = (form: HTMLFormElement, cells: readonly Cell[]): Cell =>
  cells.find((cell) => CHOICES.every((choice) => String(cell[choice]) === controlOf(form, choice).value))!;

/** Measures a recorded cell again. */
export async function measureAgain(rw: WorkerRopewalk, file: File, cell: Cell, cells: readonly Cell[]): Promise<Cell> {
  const entry = {
    name: MODEL,
    trained: TRAINED_LENGTH,
    inside: 1,
    tokens: LENGTH,
    language: story,
    weights: { [WEIGHTS]: { source: [file], options: {} } },
  };
  const judged = cells.find(
    ({ model, task, multiple, seed }) =>
      model === MODEL && task === "judge" && multiple === cell.multiple && seed === cell.seed,
  );
  const { result: _, ...setup } = cell;
  return measureCell(rw, entry, setup, { keys: judged?.result.keys });
}

/** Shows a cell as it was recorded and as it was measured here. */
export function showResult(table: HTMLTableElement, before: Cell, here: Cell): void {
  const rows = rowsOf(before).map(([name, value], i) => {
    const row = document.createElement("tr");
    const title = withText("th", name);
    title.scope = "row";
    row.append(title, withText("td", value), withText("td", rowsOf(here)[i]![1]));
    return row;
  });
  find("tbody", table).replaceChildren(...rows);
  table.hidden = false;
}

function rowsOf({ result: { loss, keyLoss, asked, right } }: Cell): [name: string, value: string][] {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
  return [
    ...(loss === undefined ? [] : [["loss, nats per token", loss.toFixed(5)] as [string, string]]),
    ...(keyLoss == null ? [] : [["LongPPL", Math.exp(keyLoss).toFixed(4)] as [string, string]]),
    ...(asked === undefined || right === undefined
      ? []
      : [["right answers", `${sum(right)} of ${sum(asked)}`] as [string, string]]),
  ];
}
