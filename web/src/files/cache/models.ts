// Lists and removes cached models.
import { parseUrl, withoutFragment } from "../http/urls.js";
import type { FilePlatform } from "../platform.js";
import { cachedFiles, changeFile, readRecord, removeFile, removeOrphans } from "./entries.js";
import { existingStores, type PieceStore } from "./piece_store.js";
import { pieceLength } from "./pieces.js";

/** A model with files cached on this device. */
export interface CachedModel {
  /** The URL it was opened with. A file shared by several models counts for the one opened last. */
  source: string;
  /** Where it is cached: `opfs` is the origin private file system, `cache` the Cache API. */
  cache: "opfs" | "cache";
  /** Cached bytes. */
  bytes: number;
  /** Total bytes of its files. More than `bytes` if a download was interrupted or some tensors were never read. */
  size: number;
}

/** Lists the cached models of all stores. A download that failed before its first piece has left only records, so it isn't one. @internal */
export async function cachedModels(platform: FilePlatform): Promise<CachedModel[]> {
  const models: CachedModel[] = [];
  for (const [cache, store] of await existingStores(platform)) {
    const bySource = new Map<string, CachedModel>();
    for (const { key, pieces } of await cachedFiles(store)) {
      const record = await readRecord(store, key);
      if (record === undefined) continue;
      const { source, size = 0, version } = record;
      const model = bySource.get(source) ?? { source, cache, bytes: 0, size: 0 };
      bySource.set(source, model);
      model.size += size;
      const ofVersion = pieces.filter((piece) => piece.version === version);
      model.bytes += ofVersion.reduce((sum, { index }) => sum + pieceLength(store, size, index), 0);
    }
    models.push(...[...bySource.values()].filter(({ bytes }) => bytes > 0));
  }
  return models;
}

/** Removes a model's files from all stores, and what belongs to no model. Resolves with whether any files were cached. @internal */
export async function deleteCachedModel(platform: FilePlatform, source: string | URL): Promise<boolean> {
  const url = withoutFragment(parseUrl(source));
  let wasCached = false;
  for (const [, store] of await existingStores(platform)) {
    if (await removeSource(store, url)) wasCached = true;
  }
  return wasCached;
}

/** Removes the files of the model at `url` from one store. @internal */
export async function removeSource(store: PieceStore, url: string): Promise<boolean> {
  let wasCached = false;
  for (const { key } of await cachedFiles(store)) {
    await changeFile(store, key, async (file) => {
      const record = await readRecord(store, key);
      if (record?.source !== url) return removeOrphans(store, file);
      await removeFile(store, file);
      wasCached = true;
    });
  }
  return wasCached;
}

/** Removes the pieces of all files that belong to no version that is cached: those of interrupted changes and earlier releases. @internal */
export async function collectOrphans(store: PieceStore): Promise<void> {
  for (const { key, pieces } of await cachedFiles(store)) {
    const record = await readRecord(store, key);
    const isOrphan =
      record?.version === undefined ? pieces.length > 0 : pieces.some((piece) => piece.version !== record.version);
    // listed again under the lock, as another tab may have changed the file
    if (isOrphan || record === undefined) await changeFile(store, key, (file) => removeOrphans(store, file));
  }
}
