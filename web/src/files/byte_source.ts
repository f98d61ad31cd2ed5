/** A file that can be read anywhere. It keeps nothing open between reads. @internal */
export interface ByteSource {
  /** The file's name, for messages and for finding its neighbours. */
  readonly name: string;
  /** Length in bytes, or Infinity where a server does not tell; a stream then ends where the file does. */
  readonly size: number;
  /** Changes when the file does, as a server tells. */
  readonly version?: string | undefined;
  /** Reading through fewer unwanted bytes than this is cheaper than a second stream. */
  readonly seekCost: number;
  /**
   * The bytes from `start` to before `end`, in order. A chunk is valid until the next one is asked for; leaving the loop closes
   * what is open.
   *
   * @throws RopewalkError where the bytes cannot be had; the signal's reason once it is aborted
   */
  stream(start: number, end: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Says that a file is not there, as some may be left out. @internal */
export class NotThere {
  constructor(
    /** What to raise where the file is needed. */
    readonly code: "NETWORK" | "INVALID_FILE",
    /** What happened, as the rest of a message. */
    readonly why: string,
  ) {}
}

/** Files beside one another: a folder on a server or a disk, or those dropped on a page. @internal */
export interface FileSet {
  /** The file that was asked for, or undefined for the folder as a whole. */
  readonly first: string | undefined;
  /** The names of all files, where they can be known. */
  readonly names: readonly string[] | undefined;
  /** Opens a file by its name. */
  open(name: string, signal?: AbortSignal): Promise<ByteSource | NotThere>;
}

/** What pages and Node do differently. @internal */
export interface FilePlatform {
  readonly fetch: typeof fetch;
  /** The file or folder at a path of a disk and what lies beside it. */
  readonly disk?: (path: string | URL) => Promise<FileSet>;
  /** The origin's private folder, where there is one. */
  readonly privateFolder?: () => Promise<FileSystemDirectoryHandle>;
  /** The origin's caches, where there are any. */
  readonly caches?: CacheStorage;
}

/** The chunks of a stream, which is cancelled when the loop is left or the signal aborts. @internal */
export async function* chunksOf(stream: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  // a read that waits is answered by cancelling
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

/** As much of a range as its stream gives, in one array. @internal */
export async function readRange(
  source: ByteSource,
  start: number,
  end: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  let filled = 0;
  for await (const chunk of source.stream(start, end, signal)) {
    bytes.set(chunk, filled);
    filled += chunk.length;
  }
  return filled === bytes.length ? bytes : bytes.slice(0, filled);
}
