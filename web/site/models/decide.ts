// Typed questions to the open model, answered again as the reader types. Loaded with the first model that can be asked.
import type { DecisionAnswer, DecisionQuestion, WorkerModel } from "ropewalk/worker";
import { find, withText } from "../page/elements.js";
import { problemText } from "../page/problem.js";
import { percentText } from "../page/units.js";

/** After the last key, in milliseconds. */
const PAUSE = 250;

const form = find<HTMLFormElement>("#decide-form");
const control = (name: string): HTMLInputElement | HTMLTextAreaElement =>
  form.elements.namedItem(name) as HTMLInputElement | HTMLTextAreaElement;
const state = find("#decide-state");

let model: WorkerModel | undefined;
let asking = new AbortController();
let pause: ReturnType<typeof setTimeout> | undefined;

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(() => void ask(), PAUSE);
});

/** Asks a model that was just opened. */
export function beginDecisions(opened: WorkerModel): void {
  model = opened;
  void ask();
}

/** An option of a question as it is shown. */
type Row = readonly [name: string, probability: number];

async function ask(): Promise<void> {
  asking.abort();
  const { signal } = (asking = new AbortController());
  const asked = model;
  if (asked === undefined) return;
  const start = performance.now();
  const options = linesOf("options").map((line) => {
    const [name = "", ...rest] = line.split(":");
    return [name.trim(), rest.join(":").trim() || null] as const;
  });
  const levels = linesOf("levels");
  const questions: [string, DecisionQuestion][] = [
    ["choice", { type: "choice", instructions: control("choice").value, criteria: options }],
    ["score", { type: "score", instructions: control("score").value, criteria: levels }],
    ["boolean", { type: "boolean", instructions: control("boolean").value }],
  ];
  try {
    const { answers, usage } = await asked.decide(control("state").value, questions, { signal });
    if (signal.aborted) return;
    for (const [name] of questions) show(name, answers[name]!, rowsOf(answers[name]!, options, levels));
    const time = (performance.now() - start).toFixed(0);
    state.textContent = `${usage.input_tokens} tokens read in ${time} ms, and none written.`;
  } catch (error) {
    if (!signal.aborted && asked === model) state.textContent = problemText(error);
  }
}

const linesOf = (name: string): string[] =>
  control(name)
    .value.split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

function rowsOf(
  answer: DecisionAnswer,
  options: readonly (readonly [string, unknown])[],
  levels: readonly string[],
): Row[] {
  if (answer.type === "choice") return options.map(([name]) => [name, answer.probabilities[name]!]);
  if (answer.type === "score") return levels.map((level, i) => [`${i} ${level}`, answer.probabilities[i]!]);
  return [
    ["yes", answer.probabilities.true],
    ["no", answer.probabilities.false],
  ];
}

function show(name: string, answer: DecisionAnswer, rows: readonly Row[]): void {
  const title =
    answer.type === "choice"
      ? answer.choice
      : answer.type === "score"
        ? `level ${answer.score.toFixed(2)}`
        : `yes ${percentText(answer.probability, 3)}`;
  const mass = `label mass ${percentText(answer.label_mass, 2)}`;
  find(`#decide-${name} h3`).textContent = title;
  find(`#decide-${name} .note`).textContent = mass;
  find(`#decide-${name} tbody`).replaceChildren(
    ...rows.map(([option, probability]) => {
      const row = document.createElement("tr");
      const cell = document.createElement("td");
      const bar = Object.assign(document.createElement("meter"), { value: probability });
      bar.setAttribute("aria-label", option);
      cell.append(bar);
      row.append(withText("td", option), cell, withText("td", percentText(probability, 3)));
      return row;
    }),
  );
}
