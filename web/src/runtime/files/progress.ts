// Counts the bytes that are read while a model is opened.
import { type ByteSource, type FileSet, MissingFile } from "./byte_source.js";

/** Progress of reading, in bytes. */
export interface ReadProgress {
  /** Bytes received. */
  loaded: number;
  /** Bytes requested. */
  total: number;
}

/** Wraps files so that reads report progress until `stop` is called. @internal */
export function countReads(
  files: FileSet,
  onProgress: (progress: ReadProgress) => void,
): { files: FileSet; stop: () => void } {
  let isCounting = true;
  let loaded = 0;
  let total = 0;
  const counted = (source: ByteSource): ByteSource => ({
    name: source.name,
    size: source.size,
    seekCost: source.seekCost,
    get isLocal() {
      return source.isLocal ?? false;
    },
    ...(source.kept !== undefined && { kept: source.kept }),
    async *stream(start, end, signal) {
      if (!isCounting) {
        yield* source.stream(start, end, signal);
        return;
      }
      total += Math.min(end, source.size) - start;
      for await (const chunk of source.stream(start, end, signal)) {
        yield chunk;
        loaded += chunk.length;
        onProgress({ loaded, total });
      }
    },
  });
  const open: FileSet["open"] = async (name, signal) => {
    const source = await files.open(name, signal);
    return source instanceof MissingFile ? source : counted(source);
  };
  return {
    files: { requested: files.requested, names: files.names, open },
    stop: () => void (isCounting = false),
  };
}
