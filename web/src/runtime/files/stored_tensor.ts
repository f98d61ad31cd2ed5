// Where tensors are in a model's files.
import * as advise from "../../core/base/advice.js";
import type { ByteSource } from "./byte_source.js";
import { invalidFile, named } from "./errors.js";
import type { WeightFormatName } from "../../core/quantize/weight_formats.js";

/** A tensor's name, type, shape and byte range, from a file's header. */
export interface StoredTensor {
  /** Its name in the file. */
  readonly name: string;
  /** How its elements are stored. */
  readonly format: WeightFormatName;
  /** Dimensions, outermost first. */
  readonly shape: readonly number[];
  /** Index of the model's file that contains it. */
  readonly file: number;
  /** Bytes from the start of that file. */
  readonly offset: number;
  /** Its length in bytes. */
  readonly bytes: number;
  /** How a weight that other systems have quantized is stored. It's read in `format`. @internal */
  readonly packing?: Packing;
}

/** A tensor of integers or of 8-bit floats, which is a part of a quantized weight. @internal */
export interface PackedTensor extends Omit<StoredTensor, "format" | "packing"> {
  /** Its element type in the safetensors header. */
  readonly dtype: string;
}

/** The tensors that a quantized weight consists of, and how to read them. @internal */
export interface Packing {
  /** By what they are: `codes`, `scales` … */
  readonly parts: Readonly<Record<string, PackedTensor | StoredTensor>>;
  /** Yields the weight in its format, from the first row on. @param data - the bytes of each part */
  readonly decode: (data: Readonly<Record<string, Uint8Array>>) => Iterable<Uint8Array>;
}

/** A model's files and the tensors in them. @internal */
export interface OpenedTensors {
  readonly files: readonly ByteSource[];
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /** Tensors of integers or of 8-bit floats. */
  readonly packed?: ReadonlyMap<string, PackedTensor>;
}

/**
 * Checks that the tensors of one file are inside the file and don't overlap.
 *
 * @throws INVALID_FILE naming the tensor
 * @internal
 */
export function checkTensorRanges(
  file: string,
  tensors: readonly Pick<StoredTensor, "name" | "offset" | "bytes">[],
  dataStart: number,
  size: number,
): void {
  let end = dataStart;
  let before = "the header";
  for (const { name, offset, bytes } of [...tensors].sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)) {
    if (offset < end)
      invalidFile(
        file,
        name,
        `starts at byte ${offset}, inside ${before}, which ends at byte ${end}: the file is damaged`,
        advise.other("download it again"),
      );
    end = offset + bytes;
    before = named(name);
    if (!Number.isSafeInteger(end)) invalidFile(file, name, `ends at byte ${end}, beyond the end of any file`);
    if (end > size)
      invalidFile(
        file,
        name,
        `ends at byte ${end}, but the file has ${size}: it is truncated or damaged`,
        advise.other("download it again"),
      );
  }
}
