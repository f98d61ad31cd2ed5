// Reads the 8-bit floats of GGUF files, with or without scales of their matrices.
import { unsupportedModel } from "../errors.js";
import type { OpenedTensors, PackedTensor, StoredTensor } from "../stored_tensor.js";
import { floatsOf } from "./floats.js";
import { bfloat16Rows } from "./fp8.js";

const SUFFIX = ".weight";

/**
 * Replaces tensors of 8-bit floats by weights in bf16, which has all their values. A tensor `….scale` beside one has a factor for the whole, or
 * for each expert: llama.cpp multiplies the products by it. Scales of inputs (`….input_scale`) are ignored, because inputs aren't rounded to 8 bits.
 *
 * @throws UNSUPPORTED_MODEL for scales of another shape
 * @internal
 */
export function unpackGgufFloats({ files, tensors, packed }: OpenedTensors): OpenedTensors {
  const all = new Map(tensors);
  for (const codes of packed!.values()) {
    const stem = codes.name.endsWith(SUFFIX) ? codes.name.slice(0, -SUFFIX.length) : codes.name;
    const scales = all.get(`${stem}.scale`);
    for (const part of ["scale", "input_scale"]) all.delete(`${stem}.${part}`);
    all.set(codes.name, weightOf(files[codes.file]!.name, codes, scales));
  }
  return { files, tensors: all };
}

function weightOf(file: string, codes: PackedTensor, scales: StoredTensor | undefined): StoredTensor {
  const { dtype: _, ...place } = codes;
  const columns = codes.shape.at(-1) ?? 1;
  const rows = codes.bytes / columns;
  const count = scales?.shape.reduce((product, extent) => product * extent, 1) ?? 1;
  const experts = codes.shape.length === 3 ? codes.shape[0] : 1;
  const isFloat = scales === undefined || ["f32", "f16", "bf16"].includes(scales.format);
  if (!isFloat || (count !== 1 && count !== experts))
    unsupportedModel(
      file,
      scales!.name,
      `must have one float, or one for each expert (got ${count}, ${scales!.format})`,
    );
  const block = { blockRows: Math.max(1, rows / count), blockColumns: columns };
  return {
    ...place,
    format: "bf16",
    bytes: 2 * codes.bytes,
    packing: {
      parts: { codes, ...(scales !== undefined && { scales }) },
      decode: ({ codes: read, scales: factors }) =>
        bfloat16Rows(
          read!,
          columns,
          factors === undefined ? Float32Array.of(1) : floatsOf(factors, scales!.format),
          block,
        ),
    },
  };
}
