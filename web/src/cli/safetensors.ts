/** A tensor's entry in the header of a safetensors file. */
export interface Entry {
  dtype: string;
  shape: readonly number[];
  /** Bytes from the end of the header, begin and end. */
  data_offsets: readonly [begin: number, end: number];
}

/** A header's bytes, its length in front, padded so that data begins at a multiple of eight. */
export function writeHeader(tensors: Readonly<Record<string, Entry>>, metadata?: unknown): Uint8Array {
  const json = new TextEncoder().encode(
    JSON.stringify({ ...(metadata !== undefined && { __metadata__: metadata }), ...tensors }),
  );
  const bytes = new Uint8Array(8 + Math.ceil(json.length / 8) * 8).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(bytes.length - 8), true);
  bytes.set(json, 8);
  return bytes;
}
