import { type FileHandle, open } from "node:fs/promises";
import { RopewalkError } from "../errors.js";
import type { ConvertPairingOptions } from "../pairing.js";
import type { Ropewalk } from "../runtime.js";
import type { Heads } from "./convert_heads.js";
import { writeFileWhole } from "./output_file.js";
import { type Entry, type Header, readHeader } from "./safetensors.js";

/** From which pairing to which. */
export interface Way {
  from: "half" | "interleaved";
  to: "half" | "interleaved";
}

/** Projections of queries and keys as models call them, their biases, and the norms of single heads. */
const PROJECTIONS = /(^|\.)(q_proj|k_proj|wq|wk|q_norm|k_norm|query|key)\.(weight|bias)$/;
/** Projections of queries, keys and values in one tensor, whose rows are not those of q or of k. */
const FUSED = /(^|\.)(qkv_proj|query_key_value|c_attn|Wqkv|qkv)\.(weight|bias)$/;

/** Bytes that are copied at a time. */
const STEP = 1 << 22;

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
  const source = await open(input).catch((cause: unknown) => {
    throw new RopewalkError("INVALID_FILE", input, `cannot be read: ${(cause as Error).message}`, { cause });
  });
  try {
    const { size } = await source.stat();
    const header = await readHeader(input, size, (start, end) => readBytes(source, input, start, end));
    const chosen = chooseTensors(input, header, pattern);
    const shapes = new Map(chosen.map(([name, entry]) => [name, headsIn(name, entry, heads)]));
    await writeFileWhole(output, async (target, signal) => {
      let done = 0;
      const write = async (bytes: Uint8Array): Promise<void> => {
        signal.throwIfAborted();
        await target.writeFile(bytes);
        onProgress((done += bytes.length), size);
      };
      const copyTo = async (end: number): Promise<void> => {
        while (done < end) await write(await readBytes(source, input, done, Math.min(end, done + STEP)));
      };
      for (const [name, { data_offsets }] of chosen) {
        const [begin, end] = data_offsets.map((offset) => header.dataStart + offset) as [number, number];
        await copyTo(begin);
        await write(convertRows(rw, await readBytes(source, input, begin, end), { ...shapes.get(name)!, ...way }));
      }
      await copyTo(size);
    });
    return chosen.map(([name]) => name);
  } finally {
    await source.close();
  }
}

/** The tensors to convert, in the order of their data. */
function chooseTensors(file: string, { tensors }: Header, pattern: RegExp | undefined): (readonly [string, Entry])[] {
  const fused = [...tensors.keys()].find((name) => FUSED.test(name));
  if (pattern === undefined && fused !== undefined) {
    throw new RopewalkError("INVALID_ARGUMENT", "--tensors", `${fused} holds q, k and v in one, which is not converted; split it before`);
  }
  const chosen = [...tensors].filter(([name]) => (pattern ?? PROJECTIONS).test(name));
  if (chosen.length === 0) {
    const some = [...tensors.keys()].slice(0, 3).join(", ");
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "--tensors",
      `none of the ${tensors.size} tensors in ${file} is called so (it has ${some}, …)`,
    );
  }
  return chosen.sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
}

/** Whose heads the rows of a tensor are: those of queries, of keys, or of one head for all. */
function headsIn(
  name: string,
  { shape }: Entry,
  { heads, kvHeads, headDim, rotaryDim, rotaryOffset }: Heads,
): Omit<ConvertPairingOptions, "from" | "to"> {
  const rows = shape[0] ?? 0;
  const isKey = /(^|[._])(k|wk|key)(?=[._]|$)/.test(name);
  const own = isKey ? kvHeads : heads;
  const isOfOneHead = /_norm\./.test(name) && rows !== own * (headDim ?? NaN);
  const head_dim = headDim ?? (isOfOneHead ? rows : rows / own);
  const count = rows / head_dim;
  const fits = isOfOneHead
    ? count === 1
    : headDim === undefined
      ? Number.isInteger(head_dim)
      : count === own || (!isKey && count === kvHeads);
  if (!fits || rows === 0) {
    const expected = headDim === undefined ? `a multiple of ${own} rows` : `${own} heads of ${headDim} rows`;
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      isKey ? "--kv-heads" : "--heads",
      `${name} is [${shape.join(", ")}], which is not ${expected}`,
    );
  }
  return { heads: count, head_dim, rotary_dim: rotaryDim ?? head_dim, rotary_offset: rotaryOffset };
}

/** Rows are moved whole, so bytes will do whatever the element type. */
function convertRows(rw: Ropewalk, bytes: Uint8Array, options: ConvertPairingOptions): Uint8Array {
  return rw.convertPairing(bytes as unknown as Uint16Array, options) as unknown as Uint8Array;
}

async function readBytes(file: FileHandle, name: string, start: number, end: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  for (let filled = 0; filled < bytes.length;) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, start + filled);
    if (bytesRead === 0) throw new RopewalkError("INVALID_FILE", name, `ends at byte ${start + filled}: it has been cut while it was read`);
    filled += bytesRead;
  }
  return bytes;
}
