// Reads the header of a file of any format, fetching more of the file only as the parser needs it.
import * as advise from "../../core/base/advice.js";
import type { ByteSource } from "./byte_source.js";
import { readRange } from "./byte_source.js";
import { invalidFile } from "./errors.js";
import { MAX_HEADER_BYTES, MAX_NAME_BYTES, MAX_VALUES } from "./limits.js";
import { decodeStrings, UTF8 } from "./utf8_strings.js";

/** The header of a model with a tokenizer often has more than a megabyte. A download begins with less, because other headers are small. */
const FIRST_READ = { local: 4 << 20, download: 1 << 20 };

/** Thrown by a HeaderCursor when the parser needs more of the file. Caught by readHeader. @internal */
class NeedMoreBytes extends Error {
  constructor(readonly needed: number) {
    super();
  }
}

/**
 * Reads little-endian numbers and strings in sequence from the start of a file. Reading past the fetched bytes fetches more and restarts
 * the parser. Reading past the end of the file raises INVALID_FILE, so a count in a file is checked before memory is allocated for it.
 * @internal
 */
export class HeaderCursor {
  /** Offset of the next value. */
  position = 0;
  private values = 0;
  private readonly view: DataView;

  /**
   * @param file name of the file
   * @param bytes the start of the file
   * @param size length of the file, or Infinity
   */
  constructor(
    readonly file: string,
    private readonly bytes: Uint8Array,
    private readonly size: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Checks that `count` more bytes have been fetched. `part` names what they are. */
  need(count: number, part: string): void {
    const end = this.position + count;
    if (end <= this.bytes.length) return;
    if (end > this.size) {
      invalidFile(
        this.file,
        part,
        `needs ${end} bytes, but the file has ${this.size}: it is truncated or damaged`,
        advise.other("download it again"),
      );
    }
    if (end > MAX_HEADER_BYTES)
      invalidFile(
        this.file,
        part,
        `needs a header of ${end} bytes, more than the limit of ${MAX_HEADER_BYTES}: the file is damaged`,
        advise.other("download it again"),
      );
    throw new NeedMoreBytes(end);
  }

  /** The next `count` bytes, not copied. */
  take(count: number, part: string): Uint8Array {
    this.need(count, part);
    this.position += count;
    return this.bytes.subarray(this.position - count, this.position);
  }

  /** A number of `bytes` bytes. */
  number(bytes: number, part: string, read: (view: DataView, at: number) => number): number {
    this.need(bytes, part);
    const value = read(this.view, this.position);
    this.position += bytes;
    return value;
  }

  u32(part: string): number {
    return this.number(4, part, (view, at) => view.getUint32(at, true));
  }

  /** A 64-bit integer: a number if that is exact, otherwise a bigint. */
  integer64(part: string, signed: boolean): number | bigint {
    this.need(8, part);
    const { view, position } = this;
    this.position += 8;
    const high = signed ? view.getInt32(position + 4, true) : view.getUint32(position + 4, true);
    const value = high * 2 ** 32 + view.getUint32(position, true);
    if (Number.isSafeInteger(value)) return value; // without a bigint, which takes memory for each of a million lengths
    return signed ? view.getBigInt64(position, true) : view.getBigUint64(position, true);
  }

  /** A 64-bit count, offset or length. */
  count(part: string): number {
    const value = this.integer64(part, false);
    if (typeof value === "bigint")
      invalidFile(
        this.file,
        part,
        `${value} is more than any file holds: the file is damaged`,
        advise.other("download it again"),
      );
    return value;
  }

  /**
   * A 64-bit count of things that take at least `bytes` bytes each and come later in the header. Checked against the length of the file and
   * against `most` before any of them is fetched. `things` names them in messages.
   */
  countOf(things: string, bytes: number, most: number, part: string): number {
    const count = this.count(part);
    const isInFile = this.position + count * bytes <= this.size;
    if (isInFile && count > most)
      invalidFile(this.file, part, `has ${count} ${things}, more than the limit of ${most}: the file is damaged`);
    this.need(count * bytes, part);
    return count;
  }

  /** The length of an array whose values take at least `bytes` bytes each. All arrays of a file have at most MAX_VALUES values. */
  arrayLength(bytes: number, part: string): number {
    const length = this.countOf("values", bytes, MAX_VALUES - this.values, part);
    this.values += length;
    return length;
  }

  /** A name: a UTF-8 string after its length. */
  name(part: string): string {
    return this.utf8(this.countOf("bytes", 1, MAX_NAME_BYTES, part), part);
  }

  /** `count` UTF-8 strings, each after its 64-bit length. */
  strings(count: number, part: string): string[] {
    const start = this.position;
    const ranges = new Uint32Array(2 * count);
    for (let i = 0; i < count; i++) {
      const length = this.count(part);
      this.need(length, part);
      ranges[2 * i] = this.position;
      ranges[2 * i + 1] = this.position += length;
    }
    const strings = decodeStrings(this.bytes, ranges);
    if (strings !== undefined) return strings;
    this.position = start; // one by one, for the error of the first that is invalid
    return Array.from({ length: count }, () => this.utf8(this.count(part), part));
  }

  /** A UTF-8 string of `length` bytes. */
  utf8(length: number, part: string): string {
    const bytes = this.take(length, part);
    try {
      return UTF8.decode(bytes);
    } catch (cause) {
      return invalidFile(this.file, part, "is not valid UTF-8: the file is damaged", {
        ...advise.other("download it again"),
        cause,
      });
    }
  }
}

/** Runs `parse` on the start of a file. Fetches four times as much each time it needs more, so little is parsed twice. @internal */
export async function readHeader<T>(
  source: ByteSource,
  parse: (cursor: HeaderCursor) => T,
  signal?: AbortSignal,
): Promise<T> {
  const most = Math.min(source.size, MAX_HEADER_BYTES);
  let size = source.size;
  let bytes = new Uint8Array(0);
  let wanted = Math.min(source.isLocal ? FIRST_READ.local : FIRST_READ.download, most);
  for (;;) {
    const more = await readRange(source, bytes.length, wanted, signal);
    if (bytes.length + more.length < wanted) size = bytes.length + more.length;
    bytes = concat(bytes, more);
    try {
      return parse(new HeaderCursor(source.name, bytes, size));
    } catch (request) {
      if (!(request instanceof NeedMoreBytes)) throw request;
      wanted = Math.min(Math.max(request.needed, bytes.length * 4), most);
    }
  }
}

function concat(a: Uint8Array<ArrayBuffer>, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
