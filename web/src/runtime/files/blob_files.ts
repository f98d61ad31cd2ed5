// Files that a page passes in: Blobs, and bytes in memory.
import * as advise from "../../core/base/advice.js";
import { type ByteSource, chunksOf, type FileSet, MissingFile } from "./byte_source.js";
import { invalidFile } from "./errors.js";

const CHUNK_BYTES = 4 << 20;

/** Bytes in memory as a file. @internal */
export function bytesSource(name: string, bytes: Uint8Array): ByteSource {
  return {
    name,
    size: bytes.length,
    seekCost: 0,
    isLocal: true,
    // eslint-disable-next-line @typescript-eslint/require-await -- asynchronous like the other sources
    async *stream(start, end, signal) {
      const last = Math.min(end, bytes.length);
      for (let at = start; at < last; at += CHUNK_BYTES) {
        signal?.throwIfAborted();
        yield bytes.subarray(at, Math.min(at + CHUNK_BYTES, last));
      }
    },
  };
}

/** A Blob as a file: dropped on a page, or read from a cache. @internal */
export function blobSource(name: string, blob: Blob): ByteSource {
  return {
    name,
    size: blob.size,
    seekCost: 1 << 20,
    isLocal: true,
    async *stream(start, end, signal) {
      try {
        yield* chunksOf(blob.slice(start, end).stream(), signal);
      } catch (cause) {
        signal?.throwIfAborted();
        const reason = (cause as Error).message;
        invalidFile(name, "file", `can no longer be read because it has changed or was removed (${reason})`, {
          ...advise.other("open it again"),
          cause,
        });
      }
    },
  };
}

/** Several Blobs as a folder. Each is found by its own name, or by its path if a whole folder was chosen. @internal */
export function blobFiles(blobs: readonly Blob[]): FileSet {
  const named = blobs.map((blob) => ({ blob, name: nameOf(blob) }));
  const names = named.map(({ name }) => name);
  const open = (name: string): ByteSource | MissingFile => {
    const [found, second] = named.filter((file) => file.name === name);
    if (found === undefined)
      return new MissingFile(
        "INVALID_FILE",
        `is not among the files passed in (${names.join(", ")})`,
        advise.other("add it"),
      );
    return second === undefined
      ? blobSource(name, found.blob)
      : new MissingFile("INVALID_FILE", "was passed in twice", advise.other("remove one of the two"));
  };
  return {
    requested: names.length === 1 ? names[0] : undefined,
    names,
    open: (name) => Promise.resolve(open(name)),
  };
}

function nameOf(blob: Blob): string {
  const path = "webkitRelativePath" in blob ? String(blob.webkitRelativePath) : "";
  if (path.includes("/")) return path.slice(path.indexOf("/") + 1);
  return "name" in blob && typeof blob.name === "string" && blob.name !== "" ? blob.name : "model";
}

/** Bytes in memory as a folder with one file. @internal */
export function bytesFiles(bytes: Uint8Array): FileSet {
  const source = bytesSource("model", bytes);
  const absent = new MissingFile(
    "INVALID_FILE",
    "is needed, but the model was passed in as bytes",
    advise.blobs({ all: true }),
  );
  return {
    requested: source.name,
    names: [source.name],
    open: (name) => Promise.resolve(name === source.name ? source : absent),
  };
}
