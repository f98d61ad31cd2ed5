import { basename } from "node:path";
import { RopewalkError } from "../../base/errors.js";
import { type ByteSource, MissingFile, readRange } from "../../files/byte_source.js";
import { invalidFile } from "../../files/errors.js";
import { readHeader } from "../../files/header_reader.js";
import { nodeFiles } from "../../files/node_files.js";
import { elementBytes, parseEntries, type SafetensorsEntry } from "../../files/safetensors/header.js";
import type { ConvertPairingOptions } from "../../rope/pairing.js";
import type { Ropewalk } from "../../load/runtime.js";
import type { Heads } from "./heads.js";
import { writeFileWhole } from "../output_file.js";

/** From which pairing to which. */
export interface Way {
  from: "half" | "interleaved";
  to: "half" | "interleaved";
}

/** Projections of queries and keys as models call them, their biases, and the norms of single heads. */
const PROJECTIONS = /(^|\.)(q_proj|k_proj|wq|wk|q_norm|k_norm|query|key)\.(weight|bias)$/;
/** Projections of queries, keys and values in one tensor, whose rows are not those of q or of k. */
const FUSED = /(^|\.)(qkv_proj|query_key_value|c_attn|Wqkv|qkv)\.(weight|bias)$/;

/**
 * Copies a safetensors file, with the q and k projections moved to another pairing. Takes memory for one tensor.
 * @param pattern - names of the tensors to convert, in place of the usual ones.
 * @param onProgress - hears of bytes.
 * @returns the names of what was converted.
 * @throws {@link RopewalkError} INVALID_FILE, INVALID_ARGUMENT; the file is then not written.
 */
export async function convertFile(
  rw: Ropewalk,
  input: string,
  output: string,
  way: Way,
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
  await writeFileWhole(output, async (target, signal) => {
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
  return source instanceof MissingFile ? invalidFile(path, "file", source.reason) : source;
}

/** Tensors that are not converted are copied, so that all element types will do whose size is known. */
function bytesOf(file: string, name: string, dtype: string, shape: readonly number[]): number {
  return elementBytes(dtype, shape) ?? invalidFile(file, name, `has the unknown dtype ${dtype}`);
}

/** The tensors to convert, in the order of their data. */
function chooseTensors(
  file: string,
  entries: readonly SafetensorsEntry[],
  pattern: RegExp | undefined,
): SafetensorsEntry[] {
  const fused = entries.find(({ name }) => FUSED.test(name));
  if (pattern === undefined && fused !== undefined) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "--tensors",
      `${fused.name} holds q, k and v in one, which is not converted; split it before`,
    );
  }
  const chosen = entries.filter(({ name }) => (pattern ?? PROJECTIONS).test(name));
  if (chosen.length === 0) {
    const some = entries.slice(0, 3).map(({ name }) => name);
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "--tensors",
      `none of the ${entries.length} tensors in ${file} is called so (it has ${some.join(", ")}, …)`,
    );
  }
  return chosen.sort((a, b) => a.offset - b.offset);
}

const isKey = (name: string): boolean => /(^|[._])(k|wk|key)(?=[._]|$)/.test(name);
const isNorm = (name: string): boolean => /_norm\./.test(name);

/** Elements of a head, as the projections of a file tell. */
function headDimIn(entries: readonly SafetensorsEntry[], { heads, kvHeads }: Heads): number | undefined {
  const projection = entries.find(({ name }) => PROJECTIONS.test(name) && !isNorm(name));
  return projection && (projection.shape[0] ?? 0) / (isKey(projection.name) ? kvHeads : heads);
}

/**
 * Whose heads the rows of a tensor are: those of queries, of keys, or of one head for all, as a norm may be.
 * @param normDim - elements of a head where only the file tells: the rows of a norm do not say whether they are of one head or of all.
 */
function headsIn(
  { name, shape }: SafetensorsEntry,
  { heads, kvHeads, headDim, rotaryDim, rotaryOffset }: Heads,
  normDim: number | undefined,
): Omit<ConvertPairingOptions, "from" | "to"> {
  const rows = shape[0] ?? 0;
  const own = isKey(name) ? kvHeads : heads;
  const head_dim = headDim ?? (isNorm(name) ? normDim : rows / own);
  if (head_dim === undefined) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "--head-dim",
      `must be given: ${name} is a norm, and no projection beside it tells`,
    );
  }
  const count = rows / head_dim;
  const fits =
    rows > 0 &&
    Number.isInteger(head_dim) &&
    (count === own || (isNorm(name) && count === 1) || (!isKey(name) && count === kvHeads));
  if (!fits) {
    const expected =
      headDim === undefined && !isNorm(name) ? `a multiple of ${own} rows` : `${own} heads of ${head_dim} rows`;
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      isKey(name) ? "--kv-heads" : "--heads",
      `${name} is [${shape.join(", ")}], which is not ${expected}`,
    );
  }
  return { heads: count, head_dim, rotary_dim: rotaryDim ?? head_dim, rotary_offset: rotaryOffset };
}

/** Rows are moved whole, so bytes will do whatever the element type. */
function convertRows(rw: Ropewalk, bytes: Uint8Array, options: ConvertPairingOptions): Uint8Array {
  return rw.convertPairing(bytes as unknown as Uint16Array, options) as unknown as Uint8Array;
}
