// Opens a GGUF model, which may be split into several files.
import * as advise from "../../../core/base/advice.js";
import { show } from "../../../core/base/show.js";
import { type ByteSource, type FileSet, MissingFile } from "../byte_source.js";
import { invalidFile, named } from "../errors.js";
import { readHeader } from "../header_reader.js";
import { MAX_FILES, MAX_TENSORS } from "../limits.js";
import type { OpenedTensors, PackedTensor, StoredTensor } from "../stored_tensor.js";
import { type GgufHeader, parseGguf } from "./header.js";

/** A GGUF model's files and tensors, and the metadata of the first file, which has all of it. @internal */
export interface OpenedGguf extends OpenedTensors {
  readonly metadata: GgufHeader["metadata"];
}

const SHARD = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/;

/**
 * Opens a GGUF file and, if it is one part of a split model, all other parts. The part number in each header must match the file's name.
 *
 * @throws INVALID_FILE, UNSUPPORTED_MODEL, NETWORK
 * @internal
 */
export async function openGguf(set: FileSet, opened: ByteSource, signal?: AbortSignal): Promise<OpenedGguf> {
  const header = await readGguf(opened, 0, signal);
  const count = splitNumber(opened.name, header, "split.count") ?? 1;
  if (count <= 1) return byName([opened], header);

  const [, prefix, , total] = SHARD.exec(opened.name) ?? [];
  if (prefix === undefined || Number(total) !== count) {
    const expected = `<name>-00001-of-${String(count).padStart(5, "0")}.gguf`;
    return invalidFile(
      opened.name,
      "split.count",
      `the file is one of ${count} parts`,
      advise.other(`put all of them in one folder, named ${expected} and so on`),
    );
  }
  if (count > MAX_FILES)
    invalidFile(opened.name, "split.count", `${count} parts are more than the limit of ${MAX_FILES}`);
  const files: ByteSource[] = [];
  const tensors: StoredTensor[] = [];
  const packed: PackedTensor[] = [];
  let metadata: GgufHeader["metadata"] = {};
  for (let i = 0; i < count; i++) {
    const name = `${prefix}-${String(i + 1).padStart(5, "0")}-of-${total}.gguf`;
    const source = name === opened.name ? opened : await set.open(name, signal);
    if (source instanceof MissingFile)
      return invalidFile(name, `part ${i + 1} of ${count}`, source.reason, source.advised);
    const part = await readGguf(source, i, signal);
    checkPart(name, part, i, count);
    if (i === 0) metadata = part.metadata;
    files.push(source);
    for (const tensor of part.tensors) tensors.push(tensor);
    for (const tensor of part.packed) packed.push(tensor);
    if (tensors.length + packed.length > MAX_TENSORS)
      invalidFile(name, "tensor count", `the parts up to this one have more than ${MAX_TENSORS} tensors`);
  }
  const found = tensors.length + packed.length;
  const all = splitNumber(files[0]!.name, { metadata }, "split.tensors.count") ?? found;
  if (all !== found) {
    invalidFile(
      files[0]!.name,
      "split.tensors.count",
      `is ${all}, but the parts have ${found} tensors in total: a part belongs to another model or is damaged`,
    );
  }
  return byName(files, { metadata, tensors, packed });
}

function readGguf(source: ByteSource, index: number, signal: AbortSignal | undefined): Promise<GgufHeader> {
  return readHeader(source, (cursor) => parseGguf(cursor, index, source.size), signal);
}

/** llama.cpp writes part numbers as 16-bit integers, other converters as 32-bit ones. */
function splitNumber(file: string, { metadata }: Pick<GgufHeader, "metadata">, key: string): number | undefined {
  const value = metadata[key];
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  return invalidFile(file, key, `must be an integer, 0 or more (got ${show(value)})`);
}

function checkPart(file: string, part: GgufHeader, index: number, count: number): void {
  const partCount = splitNumber(file, part, "split.count");
  const number = splitNumber(file, part, "split.no");
  if (partCount !== count)
    invalidFile(
      file,
      "split.count",
      `is ${partCount ?? "missing"}, but the other parts have ${count}: the parts belong to different models`,
    );
  if (number !== index) {
    invalidFile(
      file,
      "split.no",
      `is ${number ?? "missing"}, but the file's name says ${index} (counted from 0): a part was renamed or repeated`,
    );
  }
}

function byName(files: readonly ByteSource[], { metadata, tensors, packed }: GgufHeader): OpenedGguf {
  const seen = new Map<string, StoredTensor | PackedTensor>();
  for (const tensor of [...tensors, ...packed]) {
    const other = seen.get(tensor.name);
    if (other !== undefined)
      invalidFile(
        files[tensor.file]!.name,
        tensor.name,
        `is also in ${named(files[other.file]!.name)}; names must be unique`,
      );
    seen.set(tensor.name, tensor);
  }
  const entries = <T extends { name: string }>(list: readonly T[]): [string, T][] => list.map((one) => [one.name, one]);
  return { files, tensors: new Map(entries(tensors)), packed: new Map(entries(packed)), metadata };
}
