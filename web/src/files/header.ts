import type { ByteSource } from "./byte_source.js";
import { readRange } from "./byte_source.js";
import { invalidFile } from "./failures.js";

/** The longest header that is read, in bytes: the limit of safetensors, and many times the longest of GGUF. @internal */
export const LONGEST_HEADER = 100_000_000;

const FIRST_READ = 1 << 20;

/** What a parser throws to get more of the file. Nobody else sees it. @internal */
class MoreBytes extends Error {
  constructor(readonly needed: number) {
    super();
  }
}

/**
 * Reads numbers and strings one after the other from the beginning of a file, as little-endian. Reading past what has been fetched asks for
 * more and begins again; reading past the end of the file raises INVALID_FILE. So a count in a file is checked before space is made for it.
 * @internal
 */
export class HeaderCursor {
  /** Where the next value begins. */
  position = 0;
  private readonly view: DataView;
  private readonly text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /**
   * @param file name of the file
   * @param bytes its beginning
   * @param size its length, or Infinity
   */
  constructor(
    readonly file: string,
    private readonly bytes: Uint8Array,
    private readonly size: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Makes sure that `count` more bytes are there; `part` names what they are. */
  need(count: number, part: string): void {
    const end = this.position + count;
    if (end <= this.bytes.length) return;
    if (end > this.size) {
      invalidFile(
        this.file,
        part,
        `reaches to byte ${end} of a file of ${this.size}: the file is cut short or damaged; download it again`,
      );
    }
    if (end > LONGEST_HEADER) invalidFile(this.file, part, `makes the header longer than ${LONGEST_HEADER} bytes`);
    throw new MoreBytes(end);
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

  /** A 64-bit integer: a number where it is exact, else a bigint. */
  integer64(part: string, signed: boolean): number | bigint {
    this.need(8, part);
    const value = signed ? this.view.getBigInt64(this.position, true) : this.view.getBigUint64(this.position, true);
    this.position += 8;
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  /** A 64-bit count, offset or length. */
  count(part: string): number {
    const value = this.integer64(part, false);
    if (typeof value === "bigint")
      invalidFile(this.file, part, `is ${value}, more than any file holds: the file is damaged`);
    return value;
  }

  /** UTF-8 of `length` bytes. */
  utf8(length: number, part: string): string {
    const bytes = this.take(length, part);
    try {
      return this.text.decode(bytes);
    } catch (cause) {
      return invalidFile(this.file, part, "is not UTF-8", { cause });
    }
  }
}

/** Reads as much of a file's beginning as `parse` goes through, each time four times as much, so that little is parsed twice. @internal */
export async function readHeader<T>(
  source: ByteSource,
  parse: (cursor: HeaderCursor) => T,
  signal?: AbortSignal,
): Promise<T> {
  const most = Math.min(source.size, LONGEST_HEADER);
  let size = source.size;
  let bytes = new Uint8Array(0);
  let wanted = Math.min(FIRST_READ, most);
  for (;;) {
    const more = await readRange(source, bytes.length, wanted, signal);
    if (bytes.length + more.length < wanted) size = bytes.length + more.length;
    bytes = joined(bytes, more);
    try {
      return parse(new HeaderCursor(source.name, bytes, size));
    } catch (request) {
      if (!(request instanceof MoreBytes)) throw request;
      wanted = Math.min(Math.max(request.needed, bytes.length * 4), most);
    }
  }
}

function joined(a: Uint8Array<ArrayBuffer>, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
