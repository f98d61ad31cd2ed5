import { invalidFile } from "./failures.js";
import type { WeightFormatName } from "./weight_formats.js";

/** Where a tensor lies, as the headers say. */
export interface StoredTensor {
  /** Its name in the file. */
  readonly name: string;
  /** How its elements are stored. */
  readonly format: WeightFormatName;
  /** Lengths, outermost first. */
  readonly shape: readonly number[];
  /** Which of the model's files it is in. */
  readonly file: number;
  /** Bytes from the start of that file. */
  readonly offset: number;
  /** Its length in bytes. */
  readonly bytes: number;
}

/**
 * Checks that the tensors of one file lie inside it and share no bytes.
 *
 * @throws INVALID_FILE naming the tensor
 * @internal
 */
export function checkPlaces(
  file: string,
  tensors: readonly Pick<StoredTensor, "name" | "offset" | "bytes">[],
  dataStart: number,
  size: number,
): void {
  let end = dataStart;
  let before = "the header";
  for (const { name, offset, bytes } of [...tensors].sort((a, b) => a.offset - b.offset || a.bytes - b.bytes)) {
    if (offset < end) invalidFile(file, name, `begins at byte ${offset}, within ${before}, which ends at ${end}`);
    end = offset + bytes;
    before = name;
    if (end > size)
      invalidFile(
        file,
        name,
        `ends at byte ${end} of a file of ${size}, which is cut short or damaged; download it again`,
      );
  }
}
