// Converts a safetensors file from one pairing to another.
import * as advise from "../../../core/base/advice.js";
import { basename } from "node:path";
import { fail } from "../../../core/base/errors.js";
import { type ByteSource, MissingFile, readRange } from "../../../runtime/files/byte_source.js";
import { invalidFile, named } from "../../../runtime/files/errors.js";
import { readHeader } from "../../../runtime/files/header_reader.js";
import { nodeFiles } from "../../../runtime/files/node_files.js";
import { elementBytes, parseEntries, type SafetensorsEntry } from "../../../runtime/files/safetensors/header.js";
import type { ConvertPairingOptions } from "../../../core/rope/pairing.js";
import type { Ropewalk } from "../../../runtime/ropewalk/ropewalk.js";
import type { Heads } from "./heads.js";
import { writeFileAtomically } from "../output_file.js";

/** The pairings of the input and the output. */
export interface PairingChange {
  from: "half" | "interleaved";
  to: "half" | "interleaved";
}

/** Usual names of q and k projections, their biases, and norms of heads. */
const PROJECTIONS = /(^|\.)(q_proj|k_proj|wq|wk|q_norm|k_norm|query|key)\.(weight|bias)$/;
/** Usual names of fused q, k and v projections. They aren't supported. */
const FUSED = /(^|\.)(qkv_proj|query_key_value|c_attn|Wqkv|qkv)\.(weight|bias)$/;

/**
 * Copies a safetensors file and converts its q and k projections to another pairing. Needs memory for one tensor at a
 * time.
 * @param pattern - names of the tensors to convert, instead of the usual ones
 * @param onProgress - called with numbers of bytes
 * @returns the names of the converted tensors
 * @throws {@link RopewalkError} INVALID_FILE, INVALID_ARGUMENT; no file is written then.
 */
export async function convertFile(
  rw: Ropewalk,
  input: string,
  output: string,
  way: PairingChange,
  heads: Heads,
  pattern: RegExp | undefined,
  onProgress: (done: number, total: number) => void,
): Promise<string[]> {
  const source = await openFile(input);
  const { size } = source;
  const entries = await readHeader(source, (cursor) => parseEntries(cursor, size, bytesOf));
  const chosen = chooseTensors(input, entries, pattern);
  const normDim = headDimIn(entries, heads);
  const shapes = new Map(chosen.map((entry) => [entry.name, headsIn(entry, heads, normDim)]));
  await writeFileAtomically(output, async (target, signal) => {
    let done = 0;
    const write = async (bytes: Uint8Array): Promise<void> => {
      signal.throwIfAborted();
      await target.writeFile(bytes);
      onProgress((done += bytes.length), size);
    };
    const copyTo = async (end: number): Promise<void> => {
      for await (const bytes of source.stream(done, end)) await write(bytes);
    };
    for (const { name, offset, bytes } of chosen) {
      await copyTo(offset);
      await write(convertRows(rw, await readRange(source, offset, offset + bytes), { ...shapes.get(name)!, ...way }));
    }
    await copyTo(size);
  });
  return chosen.map(({ name }) => name);
}

async function openFile(path: string): Promise<ByteSource> {
  const files = await nodeFiles(path);
  const source = await files.open(files.requested ?? basename(path));
  return source instanceof MissingFile ? invalidFile(basename(path), "file", source.reason, source.advised) : source;
}

/** Other tensors are only copied, so every dtype of known size works. */
function bytesOf(file: string, name: string, dtype: string, shape: readonly number[]): number {
  return elementBytes(dtype, shape) ?? invalidFile(file, name, `has the unknown dtype ${named(dtype)}`);
}

/** The tensors to convert, in the order of their data. */
function chooseTensors(
  file: string,
  entries: readonly SafetensorsEntry[],
  pattern: RegExp | undefined,
): SafetensorsEntry[] {
  const fused = entries.find(({ name }) => FUSED.test(name));
  if (pattern === undefined && fused !== undefined) {
    fail(
      "INVALID_ARGUMENT",
      "--tensors",
      `${named(fused.name)} combines q, k and v in one tensor, which isn't supported`,
      advise.other("split it first"),
    );
  }
  const chosen = entries.filter(({ name }) => (pattern ?? PROJECTIONS).test(name));
  if (chosen.length === 0) {
    const examples = entries.slice(0, 3).map(({ name }) => named(name));
    fail(
      "INVALID_ARGUMENT",
      "--tensors",
      `matches none of the ${entries.length} tensors in ${file} (${examples.join(", ")}, …)`,
    );
  }
  return chosen.sort((a, b) => a.offset - b.offset);
}

const isKey = (name: string): boolean => /(^|[._])(k|wk|key)(?=[._]|$)/.test(name);
const isNorm = (name: string): boolean => /_norm\./.test(name);

/** Elements of a head, from the shape of a projection in the file. */
function headDimIn(entries: readonly SafetensorsEntry[], { heads, kvHeads }: Heads): number | undefined {
  const projection = entries.find(({ name }) => PROJECTIONS.test(name) && !isNorm(name));
  return projection && (projection.shape[0] ?? 0) / (isKey(projection.name) ? kvHeads : heads);
}

/**
 * The heads in the rows of a tensor: query heads, key heads, or a single head (norms that all heads share).
 * @param normDim - elements of a head for norms, whose rows don't show whether they belong to one head or to all
 */
function headsIn(
  { name, shape }: SafetensorsEntry,
  { heads, kvHeads, headDim, rotaryDim, rotaryOffset }: Heads,
  normDim: number | undefined,
): Omit<ConvertPairingOptions, "from" | "to"> {
  const rows = shape[0] ?? 0;
  const expectedHeads = isKey(name) ? kvHeads : heads;
  const head_dim = headDim ?? (isNorm(name) ? normDim : rows / expectedHeads);
  if (head_dim === undefined) {
    fail(
      "INVALID_ARGUMENT",
      "--head-dim",
      `is required, because ${named(name)} is a norm and the file has no projection that shows it`,
    );
  }
  const count = rows / head_dim;
  const fits =
    rows > 0 &&
    Number.isInteger(head_dim) &&
    (count === expectedHeads || (isNorm(name) && count === 1) || (!isKey(name) && count === kvHeads));
  if (!fits) {
    const expected =
      headDim === undefined && !isNorm(name)
        ? `a multiple of ${expectedHeads} rows`
        : `${expectedHeads} heads of ${head_dim} rows`;
    fail(
      "INVALID_ARGUMENT",
      isKey(name) ? "--kv-heads" : "--heads",
      `${named(name)} must have ${expected} (got [${shape.join(", ")}])`,
    );
  }
  return { heads: count, head_dim, rotary_dim: rotaryDim ?? head_dim, rotary_offset: rotaryOffset };
}

/** Conversion only moves rows, so bytes work for every element type. */
function convertRows(rw: Ropewalk, bytes: Uint8Array, options: ConvertPairingOptions): Uint8Array {
  return rw.convertPairing(bytes as unknown as Uint16Array, options) as unknown as Uint8Array;
}
