import { type ByteSource, type FileSet, NotThere } from "./byte_source.js";
import { invalidFile } from "./failures.js";
import { type GgufHeader, parseGguf } from "./gguf_header.js";
import { readHeader } from "./header.js";
import type { StoredTensor } from "./stored_tensor.js";

/** The parts of a model, whichever files they come from. @internal */
export interface OpenedTensors {
  readonly files: readonly ByteSource[];
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/** The same with the metadata of the first part, which has all of it. @internal */
export interface OpenedGguf extends OpenedTensors {
  readonly metadata: GgufHeader["metadata"];
}

const SHARD = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/;

/**
 * Opens a GGUF file, and where it is one of several parts the others. Each part says which it is, and must be the one that its name says.
 *
 * @throws INVALID_FILE, UNSUPPORTED_MODEL, NETWORK
 * @internal
 */
export async function openGguf(set: FileSet, given: ByteSource, signal?: AbortSignal): Promise<OpenedGguf> {
  const header = await readGguf(given, 0, signal);
  const count = splitNumber(given.name, header, "split.count") ?? 1;
  if (count <= 1) return { files: [given], tensors: byName([given], header.tensors), metadata: header.metadata };

  const [, prefix, , total] = SHARD.exec(given.name) ?? [];
  if (prefix === undefined || Number(total) !== count) {
    const named = `<name>-00001-of-${String(count).padStart(5, "0")}.gguf`;
    return invalidFile(
      given.name,
      "split.count",
      `this is a part of ${count}: the files must lie together, named ${named} and so on`,
    );
  }
  const files: ByteSource[] = [];
  const tensors: StoredTensor[] = [];
  let metadata: GgufHeader["metadata"] = {};
  for (let i = 0; i < count; i++) {
    const name = `${prefix}-${String(i + 1).padStart(5, "0")}-of-${total}.gguf`;
    const source = name === given.name ? given : await set.open(name, signal);
    if (source instanceof NotThere) return invalidFile(name, `part ${i + 1} of ${count}`, source.why);
    const part = await readGguf(source, i, signal);
    checkPart(name, part, i, count);
    if (i === 0) metadata = part.metadata;
    files.push(source);
    for (const tensor of part.tensors) tensors.push(tensor);
  }
  const all = splitNumber(files[0]!.name, { metadata, tensors }, "split.tensors.count") ?? tensors.length;
  if (all !== tensors.length) {
    invalidFile(
      files[0]!.name,
      "split.tensors.count",
      `is ${all}, and the parts have ${tensors.length} tensors together`,
    );
  }
  return { files, tensors: byName(files, tensors), metadata };
}

function readGguf(source: ByteSource, index: number, signal: AbortSignal | undefined): Promise<GgufHeader> {
  return readHeader(source, (cursor) => parseGguf(cursor, index, source.size), signal);
}

/** Numbers of parts are 16-bit integers, which converters other than llama.cpp's write as 32-bit ones. */
function splitNumber(file: string, { metadata }: GgufHeader, key: string): number | undefined {
  const value = metadata[key];
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  return invalidFile(file, key, `must be an integer from 0 (got ${String(value)})`);
}

function checkPart(file: string, part: GgufHeader, index: number, count: number): void {
  const itsCount = splitNumber(file, part, "split.count");
  const number = splitNumber(file, part, "split.no");
  if (itsCount !== count)
    invalidFile(file, "split.count", `is ${itsCount ?? "not given"}, where the other parts say ${count}`);
  if (number !== index) {
    const is = number ?? "not given";
    invalidFile(
      file,
      "split.no",
      `is ${is}, but by its name this is part ${index}, counted from 0: a part is renamed or repeated`,
    );
  }
}

function byName(files: readonly ByteSource[], tensors: readonly StoredTensor[]): Map<string, StoredTensor> {
  const named = new Map<string, StoredTensor>();
  for (const tensor of tensors) {
    const other = named.get(tensor.name);
    if (other !== undefined) invalidFile(files[tensor.file]!.name, tensor.name, `is in ${files[other.file]!.name} too`);
    named.set(tensor.name, tensor);
  }
  return named;
}
