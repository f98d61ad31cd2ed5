import { type ByteSource, type FileSet, NotThere } from "./byte_source.js";

/** How far reading has come, in bytes. */
export interface ReadProgress {
  /** Bytes that have arrived. */
  loaded: number;
  /** Bytes asked for. */
  total: number;
}

/** Counts what is read of files until it is told to stop. @internal */
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
    return source instanceof NotThere ? source : counted(source);
  };
  return { files: { first: files.first, names: files.names, open }, stop: () => void (isCounting = false) };
}
