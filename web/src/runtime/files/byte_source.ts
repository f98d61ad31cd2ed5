import type { Advised } from "../../core/base/advice.js";
// A readable file and a set of such files, whether on a server, on disk, in a Blob or in memory.

/** A file that can be read at any offset. Nothing stays open between reads. @internal */
export interface ByteSource {
  /** The file's name, for messages and for finding files in the same folder. */
  readonly name: string;
  /** Length in bytes, or Infinity if the server doesn't send it. A stream then ends at the end of the file. */
  readonly size: number;
  /** Identifies this version of the file: the server's ETag or Last-Modified. */
  readonly version?: string | undefined;
  /** Whether `version` is a strong ETag, which should change with every byte of the file (RFC 9110, section 8.8.1). */
  readonly isExact?: boolean;
  /** The same file, which is stored on this device while it is read: for reading most of it, front to back. */
  readonly kept?: ByteSource;
  /** Skipping fewer bytes than this within a stream is cheaper than opening a second stream. */
  readonly seekCost: number;
  /** Whether reading its beginning costs no download. Then more of it is read at first. */
  readonly isLocal?: boolean;
  /**
   * Yields the bytes in [start, end), in order. A chunk is valid until the next one is requested. Leaving the loop closes the
   * connection or file.
   *
   * @throws RopewalkError if reading fails; the signal's reason once it is aborted
   */
  stream(start: number, end: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Returned instead of a file that doesn't exist. The caller decides whether the file is optional. @internal */
export class MissingFile {
  constructor(
    /** The error code to raise if the file is required. */
    readonly code: "NETWORK" | "INVALID_FILE",
    /** What happened, to complete an error message. */
    readonly reason: string,
    /** What to do. */
    readonly advised?: Advised,
  ) {}
}

/** What a name of the Hub stands for. */
export interface HubChoice {
  /** `org/name` */
  repository: string;
  /** The commit that the files are of. */
  commit: string;
  /** Path of the chosen file in the repository: a GGUF file, a safetensors file or its index. */
  file: string;
  /** Why it was chosen. */
  reason: string;
  /** Bytes of the model's files; undefined if the Hub doesn't say. */
  bytes?: number;
}

/** The files of one folder on a server or disk, or the files dropped on a page. @internal */
export interface FileSet {
  /** Name of the file the caller asked for, or undefined for the whole folder. */
  readonly requested: string | undefined;
  /** The names of all files, or undefined if they can't be listed. */
  readonly names: readonly string[] | undefined;
  /** The names of the files in a subfolder, for sets that can list them but not in `names`. */
  readonly namesIn?: (folder: string) => Promise<readonly string[]>;
  /** What was chosen, if the files are a model of the Hub. */
  readonly hub?: HubChoice;
  /** Opens a file by name. */
  open(name: string, signal?: AbortSignal): Promise<ByteSource | MissingFile>;
}

/** Yields the chunks of a stream. Cancels the stream when the loop is left or the signal aborts. @internal */
export async function* chunksOf(stream: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  // canceling also settles a pending read
  const cancel = (): void => void reader.cancel(signal?.reason).catch(() => undefined);
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) return;
      yield value;
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    cancel();
  }
}

/** Reads a range into one array, which is shorter if the file ends early. @internal */
export async function readRange(
  source: ByteSource,
  start: number,
  end: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  let filled = 0;
  for await (const chunk of source.stream(start, end, signal)) {
    bytes.set(chunk, filled);
    filled += chunk.length;
  }
  return filled === bytes.length ? bytes : bytes.slice(0, filled);
}
