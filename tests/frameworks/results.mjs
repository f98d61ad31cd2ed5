// What the last run of each framework gave, for scripts/frameworks.mjs.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../browser/tarball.mjs";

const folder = join(root, "build", "frameworks");

/** Stores the result of a row, with today's date. */
export async function record(result) {
  await mkdir(folder, { recursive: true });
  const tested = new Date().toISOString().slice(0, 10);
  await writeFile(join(folder, `${result.name.replace(/\W+/g, "_")}.json`), JSON.stringify({ ...result, tested }));
}

/** The stored results by name. */
export async function results() {
  const names = await readdir(folder).catch(() => []);
  const list = await Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8"))));
  return new Map(list.map((result) => [result.name, result]));
}
