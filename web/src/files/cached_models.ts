import type { FilePlatform } from "./byte_source.js";
import { addressOf } from "./address.js";
import { keptFiles, pieceBytes, readAbout, removeFile, withoutFragment } from "./kept_files.js";
import { existingStores, type PieceStore } from "./piece_store.js";

/** A model of which files are kept on this device. */
export interface CachedModel {
  /** The address that it was opened by. A file that several models share counts with the one opened last. */
  source: string;
  /** Where it is kept: in the origin's private folder, or its Cache API. */
  cache: "opfs" | "cache";
  /** Bytes that are kept. */
  bytes: number;
  /** Bytes of its files; more than are kept where a download broke off, or a part was never asked for. */
  size: number;
}

/** Lists what is kept, in all stores. @internal */
export async function cachedModels(platform: FilePlatform): Promise<CachedModel[]> {
  const models: CachedModel[] = [];
  for (const [cache, store] of await existingStores(platform)) {
    const bySource = new Map<string, CachedModel>();
    for (const { key, pieces } of await keptFiles(store)) {
      const about = await readAbout(store, key);
      if (about === undefined) continue;
      const { source, size = 0 } = about;
      const model = bySource.get(source) ?? { source, cache, bytes: 0, size: 0 };
      bySource.set(source, model);
      model.size += size;
      model.bytes += pieces.reduce((sum, index) => sum + pieceBytes(size, index), 0);
    }
    models.push(...bySource.values());
  }
  return models;
}

/** Removes all that is kept of a model, from all stores. Resolves with whether there was any. @internal */
export async function deleteCachedModel(platform: FilePlatform, source: string | URL): Promise<boolean> {
  const address = withoutFragment(addressOf(source));
  let wasKept = false;
  for (const [, store] of await existingStores(platform)) {
    if (await removeSource(store, address)) wasKept = true;
  }
  return wasKept;
}

async function removeSource(store: PieceStore, address: string): Promise<boolean> {
  let wasKept = false;
  for (const file of await keptFiles(store)) {
    const about = await readAbout(store, file.key);
    if (about?.source !== address) continue;
    await removeFile(store, file);
    wasKept = true;
  }
  return wasKept;
}
