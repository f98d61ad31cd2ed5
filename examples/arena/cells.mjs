// Cells on disk: one line of JSON for each, appended when it is measured, so that an interrupted run continues where it was.
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

const KEYS = ["model", "weights", "cache", "method", "multiple", "task", "seed"];

/** A cell's name: what is measured of which setup. */
export const idOf = (cell) => JSON.stringify(KEYS.map((key) => cell[key]));

/** The cells of a file, and those that are added to it. */
export class Cells {
  #path;
  #measured = new Map();

  static async open(path) {
    const cells = new Cells(path);
    for (const line of (await readFile(path, "utf8").catch(() => "")).split("\n")) {
      if (!line.endsWith("}")) continue; // a line that an interruption cut
      const cell = JSON.parse(line);
      cells.#measured.set(idOf(cell), cell);
    }
    await mkdir(dirname(path), { recursive: true });
    await cells.#write();
    return cells;
  }

  constructor(path) {
    this.#path = path;
  }

  get all() {
    return [...this.#measured.values()];
  }

  get(cell) {
    return this.#measured.get(idOf(cell));
  }

  async add(cell) {
    this.#measured.set(idOf(cell), cell);
    await appendFile(this.#path, `${JSON.stringify(cell)}\n`);
  }

  /** Writes all cells in the order of their names, which doesn't depend on the order of measuring. */
  async close() {
    this.#measured = new Map([...this.#measured].sort(([a], [b]) => (a < b ? -1 : 1)));
    await this.#write();
  }

  async #write() {
    await writeFile(this.#path, this.all.map((cell) => `${JSON.stringify(cell)}\n`).join(""));
  }
}
