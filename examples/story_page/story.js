// The page: three columns continue the same opening sentence, with plain RoPE, with a scaling, and with fine-tuned weights.
import { overridesFor, scalings } from "../small_model/scalings.mjs";
import { Column } from "./column.js";

const OPENING = "The red ball is in the garden.";
const FINE_TUNED_FACTOR = 4;

const byId = (id) => document.getElementById(id);
const { words, scaling, seed } = byId("settings").elements;
const choices = Object.entries(scalings).filter(([name]) => name !== "none");
scaling.append(...choices.map(([name, { label }]) => new Option(label, name, false, name === "yarn")));

/** The RoPE overrides of each column, for a story of `length` words. */
const ropes = {
  plain: (length) => overridesFor("none", length),
  stretched: (length) => overridesFor(scaling.value, length),
  tuned: (length) => overridesFor("yarn", length, FINE_TUNED_FACTOR),
};
const variants = { plain: "", stretched: "", tuned: "yarn/" };

let columns; // by name, once their models are loaded
let running; // AbortController of the stories being generated

async function generate() {
  running = new AbortController();
  const { signal } = running;
  const length = Number(words.value);
  setBusy(true);
  const stop = (error) => {
    if (!signal.aborted) report(error);
    running.abort();
  };
  const stories = Object.entries(columns).map(([name, column]) =>
    column
      .generate(OPENING, { overrides: ropes[name](length), length, signal, seed: seed.valueAsNumber, temperature: 0.8 })
      .catch(stop),
  );
  await Promise.all(stories);
  running = undefined;
  setBusy(false);
}

function setBusy(isBusy) {
  byId("generate").disabled = isBusy;
  byId("stop").disabled = !isBusy;
  byId("columns").setAttribute("aria-busy", isBusy);
}

function report({ message }) {
  byId("problem").textContent = message;
  byId("problem").hidden = false;
}

byId("stop").addEventListener("click", () => running?.abort());
byId("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  if (running !== undefined) return;
  byId("problem").hidden = true;
  void generate();
});

try {
  const names = Object.keys(variants);
  const opened = await Promise.all(names.map((name) => Column.open(byId(name), variants[name])));
  columns = Object.fromEntries(names.map((name, i) => [name, opened[i]]));
  await generate();
} catch (error) {
  report(error);
}
