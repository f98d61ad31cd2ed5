// The files that a command reads, which it must not overwrite.
import * as advise from "../../core/base/advice.js";
import { fstatSync, type Stats } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fail } from "../../core/base/errors.js";
import { hubFolder } from "../../runtime/files/hub/disk.node.js";
import { parseHubName } from "../../runtime/files/hub/name.js";
import { isFolder, pathOf } from "../../runtime/files/node_files.js";

const MODEL = "model.safetensors";
const INDEX = `${MODEL}.index.json`;
const WEIGHTS = /\.(gguf|safetensors)$/i;
/** Files beside weights: configs, tokenizers and chat templates. */
const BESIDE = /\.(json|jinja|txt|model)$/i;
const PART = /-\d{5}-of-\d{5}\.(gguf|safetensors)$/i;

/**
 * Prevents overwriting a file that a command reads, under whatever name: the source itself, what is read with it from its folder,
 * files of the Hub that are kept, and the file that stdin comes from.
 * @param sources - arguments of the command: paths, folders, URLs and names on the Hub
 * @throws {@link RopewalkError} INVALID_ARGUMENT
 */
export async function refuseInputs(output: string, sources: readonly string[], field = "--output"): Promise<void> {
  const existing = await stat(output).catch(() => undefined);
  if (existing === undefined) return;
  const isSame = (other: Stats | undefined): boolean =>
    other !== undefined && other.ino === existing.ino && other.dev === existing.dev;
  const refuse = (): never =>
    fail("INVALID_ARGUMENT", field, "is an input file of this command", advise.other("name another file"));
  // a terminal or /dev/null can be both
  if (existing.isFile() && isSame(stdinStats())) refuse();
  for (const source of sources) {
    if (await isKeptOfHub(output, source)) refuse();
    for (const input of await inputsOf(pathOf(source))) if (isSame(await stat(input).catch(() => undefined))) refuse();
  }
}

function stdinStats(): Stats | undefined {
  try {
    return fstatSync(0);
  } catch {
    return undefined; // closed
  }
}

/** Whether a path is in the folder where a model of the Hub is kept. */
async function isKeptOfHub(path: string, source: string): Promise<boolean> {
  if (parseHubName(source) === undefined || (await stat(source).catch(() => undefined)) !== undefined) return false;
  const kept = await realpath(hubFolder(process.env)).catch(() => undefined);
  const paths = [resolve(path), await realpath(path)];
  return kept !== undefined && paths.some((found) => found.startsWith(kept + sep));
}

/** The files that may be read from a source. */
async function inputsOf(source: string): Promise<string[]> {
  if (await isFolder(source)) return filesOf(source, undefined);
  if (/\.safetensors(\.index\.json)?$/i.test(source) || PART.test(source))
    return [source, ...(await filesOf(dirname(source), basename(source)))];
  return [source];
}

/** The files of a folder that are read with its model, or with the file that was named. */
async function filesOf(folder: string, named: string | undefined): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.map(({ name }) => name);
  const main = named ?? [MODEL, INDEX].find((name) => names.includes(name));
  const parts = main === undefined ? undefined : await partsOf(folder, main);
  const isInput = (name: string): boolean =>
    WEIGHTS.test(name) ? parts === undefined || name === main || parts(name) : BESIDE.test(name);
  // sentence-transformers has a folder for each module
  const modules = entries.filter((entry) => entry.isDirectory() && /^\d+_/.test(entry.name));
  const inner = await Promise.all(
    modules.map(async ({ name }) => (await readdir(join(folder, name))).map((file) => join(folder, name, file))),
  );
  return [...names.filter(isInput).map((name) => join(folder, name)), ...inner.flat()];
}

/** Which weights belong to a model of several files. */
async function partsOf(folder: string, main: string): Promise<(name: string) => boolean> {
  if (PART.test(main)) {
    const stem = main.replace(PART, "");
    return (name) => PART.test(name) && name.replace(PART, "") === stem;
  }
  if (!main.endsWith(".json")) return () => false;
  const listed = await readFile(join(folder, main), "utf8")
    .then((text) => Object.values((JSON.parse(text) as { weight_map: Record<string, unknown> }).weight_map))
    .catch(() => undefined);
  return (name) => listed === undefined || listed.includes(name);
}
