// What a template may use. A template comes with a model's file, so it may be made to run without end.
import { Dict, Namespace, stringOf, type Value, View } from "./values.js";

/** Steps that every template may take; released templates take about 100 for a message. About a quarter of a second. */
const STEPS = 200_000;
/** Further steps for each value in the messages, tools and variables, and for each 16 characters of their strings. */
const STEPS_PER_VALUE = 200;
const CHARACTERS_PER_STEP = 16;

/** Nested evaluations. Released templates nest about 40. */
const DEPTH = 1000;

/** Characters of a string, besides those of the inputs. */
const CHARACTERS = 1 << 22;

/** Reading this many characters takes as long as a step. */
const READ_PER_STEP = 512;
/** And writing so many, or listing so many values. */
const WRITTEN_PER_STEP = 64;
const LISTED_PER_STEP = 32;

/** Thrown when a template uses more than its budget. */
export class OverBudget extends Error {}

/** Counts what a template uses. */
export class Budget {
  #steps: number;
  readonly #characters: number;
  #depth = 0;

  /** @param inputs the template's variables */
  constructor(inputs: unknown) {
    const { values, characters } = sizeOfInputs(inputs);
    this.#steps = STEPS + STEPS_PER_VALUE * values + characters / CHARACTERS_PER_STEP;
    this.#characters = CHARACTERS + 8 * characters;
  }

  /** Takes steps. @throws OverBudget */
  spend(steps: number): void {
    this.#steps -= steps;
    if (!(this.#steps >= 0)) throw new OverBudget("it takes too many steps: its loops or macros repeat too often");
  }

  /** Starts an evaluation inside another one. {@link leave} ends it. @throws OverBudget */
  enter(): void {
    if (this.#depth === DEPTH) throw new OverBudget("it nests too deeply: a macro calls itself too often");
    this.#depth += 1;
    this.spend(1);
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** Checks the length of a string that is about to be made. @throws OverBudget */
  checkLength(characters: number): void {
    if (!(characters <= this.#characters))
      throw new OverBudget(`it makes a text of more than ${this.#characters} characters`);
  }

  /** Pays for reading a string, or the entries of an array or object. */
  read(value: Value): void {
    const text = stringOf(value);
    if (text !== undefined) this.spend(text.length / READ_PER_STEP);
    else this.spend(entriesOf(value) / LISTED_PER_STEP);
  }

  /** Pays for iterations, each of which makes a scope and a `loop`. */
  iterations(count: number): void {
    this.spend(3 * count);
  }

  /** Pays for a new value. */
  written(value: Value): void {
    const text = stringOf(value);
    if (text !== undefined) this.checkLength(text.length);
    this.spend(text !== undefined ? text.length / WRITTEN_PER_STEP : entriesOf(value));
  }

  /** Pays for all values inside a value: an array may hold the same one many times. `indent` characters are added for each level. */
  serialized(value: Value, indent = 0): void {
    const open: { value: Value; level: number }[] = [{ value, level: 0 }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { level } = next;
      this.spend(1 + (level * indent) / WRITTEN_PER_STEP);
      const text = stringOf(next.value);
      if (text !== undefined) this.spend(text.length / WRITTEN_PER_STEP);
      else for (const item of valuesIn(next.value)) open.push({ value: item, level: level + 1 });
      if (level > DEPTH) throw new OverBudget("it writes a value that is nested too deeply");
    }
  }
}

function entriesOf(value: Value): number {
  if (Array.isArray(value)) return value.length;
  return value instanceof Dict ? value.size : value instanceof View ? value.items.length : 0;
}

function valuesIn(value: Value): Iterable<Value> {
  if (Array.isArray(value)) return value;
  if (value instanceof Dict) return [...value.keys(), ...value.values()];
  if (value instanceof View) return value.items;
  return value instanceof Namespace ? value.attributes.values() : [];
}

function sizeOfInputs(inputs: unknown): { values: number; characters: number } {
  let values = 0;
  let characters = 0;
  const open = [inputs];
  const seen = new Set<object>();
  while (open.length > 0) {
    const value = open.pop();
    values += 1;
    if (typeof value === "string") characters += value.length;
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    for (const item of Object.values(value)) open.push(item);
  }
  return { values, characters };
}
