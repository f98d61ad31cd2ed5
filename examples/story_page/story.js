// The page: three columns tell the same beginning on, as the model was trained, stretched, and fine-tuned.
import { overridesFor, scalings } from "../small_model/scalings.mjs";
import { Column } from "./column.js";

const BEGINNING = "The red ball is in the garden.";
const FINE_TUNED_FACTOR = 4;

const at = (id) => document.getElementById(id);
const { words, scaling, seed } = at("settings").elements;
const others = Object.entries(scalings).filter(([name]) => name !== "none");
scaling.append(...others.map(([name, { label }]) => new Option(label, name, false, name === "yarn")));

/** What turns each column's positions, of a story of `length` words. */
const ropes = {
  plain: (length) => overridesFor("none", length),
  stretched: (length) => overridesFor(scaling.value, length),
  tuned: (length) => overridesFor("yarn", length, FINE_TUNED_FACTOR),
};
const variants = { plain: "", stretched: "", tuned: "yarn/" };

let columns; // by name, once they are open
let telling; // AbortController of the story that is being told

async function tell() {
  telling = new AbortController();
  const { signal } = telling;
  const length = Number(words.value);
  setBusy(true);
  const stop = (error) => {
    if (!signal.aborted) report(error);
    telling.abort();
  };
  const tellings = Object.entries(columns).map(([name, column]) =>
    column
      .tell(BEGINNING, { overrides: ropes[name](length), length, signal, seed: seed.valueAsNumber, temperature: 0.8 })
      .catch(stop),
  );
  await Promise.all(tellings);
  telling = undefined;
  setBusy(false);
}

function setBusy(isBusy) {
  at("tell").disabled = isBusy;
  at("stop").disabled = !isBusy;
  at("columns").setAttribute("aria-busy", isBusy);
}

function report({ message }) {
  at("problem").textContent = message;
  at("problem").hidden = false;
}

at("stop").addEventListener("click", () => telling?.abort());
at("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  if (telling !== undefined) return;
  at("problem").hidden = true;
  void tell();
});

try {
  const names = Object.keys(variants);
  const opened = await Promise.all(names.map((name) => Column.open(at(name), variants[name])));
  columns = Object.fromEntries(names.map((name, i) => [name, opened[i]]));
  await tell();
} catch (error) {
  report(error);
}
