// Lists and removes cached models.
import * as advise from "../../../core/base/advice.js";
import { parseHubNameInPage } from "../hub/name.js";
import { parseUrl, withoutFragment } from "../http/urls.js";
import { isListing, isOfRepository } from "../hub/repository.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import type { FilePlatform } from "../platform.js";
import { cachedFiles, changeFile, readRecord, removeFile, removeOrphans } from "./entries.js";
import { removeUnfinished } from "./opfs_store.js";
import type { PieceStore } from "./piece_store.js";
import { existingStores } from "./stores.js";
import { hasPiece, pieceLength } from "./pieces.js";

/** A model with files cached on this device. */
export interface CachedModel {
  /**
   * The URL it was opened with, or that of a model opened by its name; on disk, the name. A file shared by several models counts for the one
   * opened last.
   */
  source: string;
  /** Where it is cached: `opfs` is the origin private file system, `cache` the Cache API, `disk` the folder of huggingface_hub. */
  cache: "opfs" | "cache" | "disk";
  /** Cached bytes. */
  bytes: number;
  /** Total bytes of its files. More than `bytes` if a download was interrupted or some tensors were never read. */
  size: number;
}

/** Lists the cached models of all stores. A download that failed before its first piece has left only records, so it isn't one. @internal */
export async function cachedModels(platform: FilePlatform): Promise<CachedModel[]> {
  const models: CachedModel[] = [];
  for (const [cache, store] of await existingStores(platform)) models.push(...(await modelsIn(store, cache)));
  const onDisk = (await (await platform.hubDisk?.())?.list()) ?? [];
  return [
    ...models,
    ...onDisk.map(({ repository, bytes, size }) => ({ source: repository, cache: "disk" as const, bytes, size })),
  ];
}

/** The models in a store. Only pieces that are there with their length count. @internal */
export async function modelsIn(store: PieceStore, cache: CachedModel["cache"]): Promise<CachedModel[]> {
  const bySource = new Map<string, CachedModel>();
  for (const { key, pieces } of await cachedFiles(store)) {
    const record = await readRecord(store, key);
    if (record === undefined || isListing(record.source)) continue;
    const { source, size = 0, version } = record;
    const model = bySource.get(source) ?? { source, cache, bytes: 0, size: 0 };
    bySource.set(source, model);
    model.size += size;
    if (version === undefined) continue;
    for (const piece of pieces)
      if (piece.version === version && (await hasPiece({ store, key, version, size }, piece.index)))
        model.bytes += pieceLength(store, size, piece.index);
  }
  return [...bySource.values()].filter(({ bytes }) => bytes > 0);
}

/**
 * Removes a model's files from all stores, and what belongs to no model. A name removes all that is kept of its repository. Resolves with
 * whether any files were cached.
 * @internal
 */
export async function deleteCachedModel(platform: FilePlatform, source: string | URL): Promise<boolean> {
  const name = typeof source === "string" ? parseHubNameInPage(source) : undefined;
  if (name !== undefined && name.repository !== source)
    fail(
      "INVALID_ARGUMENT",
      "source",
      "is removed with all that is kept of its repository",
      advise.other(`pass ${name.repository}`),
    );
  if (
    name === undefined &&
    !(source instanceof URL || URL.canParse(source, (globalThis as { location?: Location }).location?.href))
  )
    fail("INVALID_ARGUMENT", "source", `must be a URL or a name such as org/name (got ${show(source)})`);
  const url = name === undefined ? withoutFragment(parseUrl(source)) : undefined;
  const isOfModel = (other: string): boolean =>
    name === undefined ? other === url : isOfRepository(other, name.repository);
  let wasCached = false;
  for (const [, store] of await existingStores(platform)) {
    if (await removeSource(store, isOfModel)) wasCached = true;
  }
  const isRemoved = name !== undefined && (await (await platform.hubDisk?.())?.remove(name.repository));
  return wasCached || isRemoved === true;
}

/** Removes the files of the models that `isOfModel` selects by their sources from one store. @internal */
export async function removeSource(store: PieceStore, isOfModel: (source: string) => boolean): Promise<boolean> {
  let wasCached = false;
  await removeUnfinished(store, await store.names());
  for (const { key } of await cachedFiles(store)) {
    await changeFile(store, key, async (file) => {
      const record = await readRecord(store, key);
      if (record === undefined || !isOfModel(record.source)) return removeOrphans(store, file);
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
