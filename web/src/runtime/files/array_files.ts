// The bytes of .npy and .safetensors files of arrays, for NumPy and other programs.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import { typedArrayLength, typedArrayName, viewBytes } from "../../core/base/typed_arrays.js";
import { npyHeader, type NpyArray, safetensorsHeader, type SafetensorsTensor } from "./array_headers.js";

/** Numbers with a shape, in row-major order. */
export interface ShapedArray {
  data: Float32Array | Float64Array | Int32Array | Uint8Array;
  shape: readonly number[];
}

/** The names of the element types in both formats. */
const TYPES: Readonly<Record<string, { descr: NpyArray["descr"]; dtype: string; bytes: number }>> = {
  Float32Array: { descr: "<f4", dtype: "F32", bytes: 4 },
  Float64Array: { descr: "<f8", dtype: "F64", bytes: 8 },
  Int32Array: { descr: "<i4", dtype: "I32", bytes: 4 },
  Uint8Array: { descr: "|u1", dtype: "U8", bytes: 1 },
};

/**
 * Returns the bytes of a .npy file, which `numpy.load` reads.
 * @throws {@link RopewalkError} INVALID_ARGUMENT (not a typed array), INVALID_SHAPE.
 */
export function toNpy(array: ShapedArray): Uint8Array {
  const { descr, shape, bytes } = checked(array, "array");
  return joined([npyHeader({ descr, shape }), bytes]);
}

/**
 * Returns the bytes of a .safetensors file. The tensors with the largest elements come first, so that each is aligned.
 * @param tensors - by name
 * @param metadata - texts by name
 * @throws {@link RopewalkError} INVALID_ARGUMENT, INVALID_SHAPE.
 */
export function toSafetensors(
  tensors: Readonly<Record<string, ShapedArray>>,
  metadata?: Readonly<Record<string, string>>,
): Uint8Array {
  const arrays = Object.entries(tensors).map(([name, array]) => ({ name, ...checked(array, `tensors.${name}`) }));
  for (const { name } of arrays)
    if (name === "__metadata__") fail("INVALID_ARGUMENT", `tensors.${name}`, "is the name of the metadata in the file");
  for (const [name, text] of Object.entries(metadata ?? {}))
    if (typeof text !== "string")
      fail(
        "INVALID_ARGUMENT",
        `metadata.${name}`,
        `must be a string (got ${show(text)})`,
        advise.code("use JSON.stringify()"),
      );
  arrays.sort((a, b) => b.size - a.size);
  let end = 0;
  const header = arrays.map(({ name, dtype, shape, bytes }): [string, SafetensorsTensor] => {
    const begin = end;
    end += bytes.length;
    return [name, { dtype, shape, data_offsets: [begin, end] }];
  });
  return joined([safetensorsHeader(Object.fromEntries(header), metadata), ...arrays.map(({ bytes }) => bytes)]);
}

function checked(array: ShapedArray | undefined, field: string) {
  const { data, shape } = array ?? {};
  const type = TYPES[typedArrayName(data) ?? ""];
  const bytes = viewBytes(data);
  if (type === undefined || bytes === undefined)
    return fail("INVALID_ARGUMENT", `${field}.data`, `must be one of ${Object.keys(TYPES).join(", ")}`);
  const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= 0);
  const length = typedArrayLength(data);
  if (!isShape || shape.reduce((product: number, size: number) => product * size, 1) !== length)
    return fail("INVALID_SHAPE", `${field}.shape`, `must have sizes whose product is ${length} (got ${show(shape)})`);
  return { descr: type.descr, dtype: type.dtype, size: type.bytes, shape: shape as readonly number[], bytes };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
