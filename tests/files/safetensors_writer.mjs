// Writes safetensors files from { name: { dtype, shape, data } }, in this order. `data` is bytes.

/** A complete file. */
export function safetensorsBytes(tensors, { metadata } = {}) {
  let end = 0;
  const entries = Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
    const begin = end;
    end += data.length;
    return [name, { dtype, shape, data_offsets: [begin, end] }];
  });
  const header = { ...(metadata && { __metadata__: metadata }), ...Object.fromEntries(entries) };
  return withHeader(
    header,
    Object.values(tensors).map(({ data }) => data),
  );
}

/** A file with any header, an object or text, followed by data. */
export function withHeader(header, data, { length } = {}) {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(length ?? text.length), true);
  return new Uint8Array(Buffer.concat([size, text, ...data]));
}
