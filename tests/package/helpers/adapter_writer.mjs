// Writes adapters as PEFT saves them, for tests.

/** A safetensors file of f32 tensors: `{ name: { shape, values } }`. */
export function safetensorsBytes(tensors) {
  const header = {};
  const parts = [];
  let at = 0;
  for (const [name, { shape, values }] of Object.entries(tensors)) {
    const bytes = new Uint8Array(Float32Array.from(values).buffer);
    header[name] = { dtype: "F32", shape, data_offsets: [at, (at += bytes.length)] };
    parts.push(bytes);
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true);
  return new Blob([length, json, ...parts]);
}

/** The files of an adapter, as a page would pass them in. */
export const adapterFiles = (tensors, config = {}) => [
  new File(
    [JSON.stringify({ peft_type: "LORA", r: 2, lora_alpha: 2, bias: "none", ...config })],
    "adapter_config.json",
  ),
  new File([safetensorsBytes(tensors)], "adapter_model.safetensors"),
];

const numbers = (seed, count) =>
  Array.from({ length: count }, (_, i) => 0.8 * Math.sin(12.9898 * (i + 1) + 78.233 * seed));

/** The tensors of a module of [rows, columns], by their names in PEFT. */
export function lowRank(module, rows, columns, { rank = 2, seed = 1, prefix = "base_model.model." } = {}) {
  const scale = 1 / Math.sqrt(columns);
  return {
    [`${prefix}${module}.lora_A.weight`]: {
      shape: [rank, columns],
      values: numbers(seed, rank * columns).map((x) => scale * x),
    },
    [`${prefix}${module}.lora_B.weight`]: { shape: [rows, rank], values: numbers(seed + 0.5, rows * rank) },
  };
}
