// Finds the file to open first: the requested one, or the model in a folder.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import { type ByteSource, type FileSet, MissingFile } from "./byte_source.js";
import { fieldOf, invalidFile } from "./errors.js";

const SINGLE_FILE = "model.safetensors";
const INDEX = "model.safetensors.index.json";

/** Opens the requested file, or the model in a folder. @throws INVALID_FILE, NETWORK @internal */
export async function openMainFile(files: FileSet, signal?: AbortSignal): Promise<ByteSource> {
  if (files.requested !== undefined) return requireFile(files.requested, await files.open(files.requested, signal));
  if (files.names !== undefined) {
    const name = modelNameIn(files.names);
    return requireFile(name, await files.open(name, signal));
  }
  const single = await files.open(SINGLE_FILE, signal);
  if (!(single instanceof MissingFile)) return single;
  return requireFile(`${SINGLE_FILE} or ${INDEX}`, await files.open(INDEX, signal));
}

/** @internal */
export function requireFile(name: string, found: ByteSource | MissingFile): ByteSource {
  if (found instanceof MissingFile) fail(found.code, fieldOf(name, "file"), found.reason, found.advised);
  return found;
}

function modelNameIn(names: readonly string[]): string {
  for (const name of [SINGLE_FILE, INDEX]) if (names.includes(name)) return name;
  const isLaterPart = (name: string): boolean =>
    /-\d{5}-of-\d{5}\.gguf$/.test(name) && !/-00001-of-\d{5}\.gguf$/.test(name);
  const models = names.filter(
    (name) => /\.(gguf|safetensors|safetensors\.index\.json)$/.test(name) && !isLaterPart(name),
  );
  if (models.length === 1) return models[0]!;
  const message =
    models.length === 0
      ? `the folder has no model: no .gguf or .safetensors file${names.length === 0 ? ", for it is empty" : ""}`
      : `the folder has several models (${models.join(", ")})`;
  const several = advise.other("pass the path of one of them");
  fail("INVALID_FILE", "folder: files", message, models.length === 0 ? undefined : several);
}

/** Throws INVALID_FILE for a file that is no model, and says what the file is if its first bytes show it. @internal */
export function throwUnknownFormat(name: string, expected: string, begin: Uint8Array): never {
  const text = String.fromCharCode(...begin)
    .trimStart()
    .toLowerCase();
  const actual = [
    [begin.length === 0, "it is empty", "download it again"],
    [text.startsWith("<"), "it is an HTML page", "check that the file is served at this URL"],
    [text.startsWith("version https"), "it is a Git LFS pointer", "download the file itself with `git lfs pull`"],
    [text.startsWith("pk"), "it is a PyTorch archive", "use a safetensors or GGUF version of the model"],
    [
      begin.length < 9 && (expected !== "GGUF" || "gguf".startsWith(text.slice(0, 4))),
      "it is truncated",
      "download it again",
    ],
  ].find(([holds]) => holds) as [true, string, string] | undefined;
  const noMatch = expected === "GGUF" ? 'it doesn\'t start with "GGUF"' : "its first bytes match neither format";
  const problem = `the file isn't ${expected}: ${actual?.[1] ?? noMatch}`;
  return invalidFile(name, "magic", problem, actual && advise.other(actual[2]));
}
