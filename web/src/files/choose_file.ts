import { RopewalkError } from "../base/errors.js";
import { type ByteSource, type FileSet, NotThere } from "./byte_source.js";
import { invalidFile } from "./failures.js";

const WHOLE = "model.safetensors";
const INDEX = "model.safetensors.index.json";

/** Opens the file to begin with: the one asked for, or that of a folder's model. @internal */
export async function chooseFirst(files: FileSet, signal?: AbortSignal): Promise<ByteSource> {
  if (files.first !== undefined) return needed(files.first, await files.open(files.first, signal));
  if (files.names !== undefined) {
    const name = chosenName(files.names);
    return needed(name, await files.open(name, signal));
  }
  const whole = await files.open(WHOLE, signal);
  if (!(whole instanceof NotThere)) return whole;
  return needed(`${WHOLE} or ${INDEX}`, await files.open(INDEX, signal));
}

function needed(name: string, found: ByteSource | NotThere): ByteSource {
  if (found instanceof NotThere) throw new RopewalkError(found.code, `${name}: file`, found.why);
  return found;
}

function chosenName(names: readonly string[]): string {
  for (const name of [WHOLE, INDEX]) if (names.includes(name)) return name;
  const isLaterPart = (name: string): boolean =>
    /-\d{5}-of-\d{5}\.gguf$/.test(name) && !/-00001-of-\d{5}\.gguf$/.test(name);
  const models = names.filter(
    (name) => /\.(gguf|safetensors|safetensors\.index\.json)$/.test(name) && !isLaterPart(name),
  );
  if (models.length === 1) return models[0]!;
  const what =
    models.length === 0
      ? "there is no .gguf or .safetensors file"
      : `there are several models (${models.join(", ")}); name one`;
  throw new RopewalkError("INVALID_FILE", "folder: files", what);
}

/** Says what a file is that is not a model. @internal */
export function refuseUnknown(name: string, expected: string, begin: Uint8Array): never {
  const text = String.fromCharCode(...begin)
    .trimStart()
    .toLowerCase();
  const what = [
    [begin.length === 0, "it is empty"],
    [text.startsWith("<"), "it is an HTML page; is the file served at this address?"],
    [text.startsWith("version https"), "it is a Git LFS pointer; fetch the file itself with `git lfs pull`"],
    [text.startsWith("pk"), "it is a PyTorch archive; take the model as safetensors"],
    [begin.length < 9, "it is cut short"],
  ].find(([holds]) => holds)?.[1];
  return invalidFile(
    name,
    "magic",
    what === undefined ? `it is not ${expected}` : `it is not ${expected}: ${String(what)}`,
  );
}
