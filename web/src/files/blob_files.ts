import { type ByteSource, chunksOf, type FileSet, NotThere } from "./byte_source.js";
import { invalidFile } from "./failures.js";

const STEP = 4 << 20;

/** Bytes in memory. @internal */
export function bytesSource(name: string, bytes: Uint8Array): ByteSource {
  return {
    name,
    size: bytes.length,
    seekCost: 0,
    // eslint-disable-next-line @typescript-eslint/require-await -- as asynchronous as the other sources
    async *stream(start, end, signal) {
      const last = Math.min(end, bytes.length);
      for (let at = start; at < last; at += STEP) {
        signal?.throwIfAborted();
        yield bytes.subarray(at, Math.min(at + STEP, last));
      }
    },
  };
}

/** A file dropped on a page, or kept by one. @internal */
export function blobSource(name: string, blob: Blob): ByteSource {
  return {
    name,
    size: blob.size,
    seekCost: 1 << 20,
    async *stream(start, end, signal) {
      try {
        yield* chunksOf(blob.slice(start, end).stream(), signal);
      } catch (cause) {
        signal?.throwIfAborted();
        const why = (cause as Error).message;
        invalidFile(name, "file", `cannot be read any more, as it has changed or is gone (${why}); open it again`, {
          cause,
        });
      }
    },
  };
}

/** Files handed in together; each is found by its own name. @internal */
export function blobFiles(blobs: readonly Blob[]): FileSet {
  const named = blobs.map((blob) => ({ blob, name: nameOf(blob) }));
  const names = named.map(({ name }) => name);
  const open = (name: string): ByteSource | NotThere => {
    const [found, second] = named.filter((file) => file.name === name);
    if (found === undefined) return new NotThere("INVALID_FILE", `is not among the files given (${names.join(", ")})`);
    return second === undefined ? blobSource(name, found.blob) : new NotThere("INVALID_FILE", "is given twice");
  };
  return {
    first: names.length === 1 ? names[0] : undefined,
    names,
    open: (name) => Promise.resolve(open(name)),
  };
}

function nameOf(blob: Blob): string {
  return "name" in blob && typeof blob.name === "string" && blob.name !== "" ? blob.name : "model";
}

/** One file whose bytes are in memory. @internal */
export function bytesFiles(bytes: Uint8Array): FileSet {
  const source = bytesSource("model", bytes);
  const absent = new NotThere(
    "INVALID_FILE",
    "cannot be found beside bytes; hand in the model's files as an array of Blobs",
  );
  return {
    first: source.name,
    names: [source.name],
    open: (name) => Promise.resolve(name === source.name ? source : absent),
  };
}
