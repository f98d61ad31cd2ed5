// The files of a model on the Hub: from a name to a set of files like any other. The entry of this folder.
import * as advise from "../../core/base/advice.js";
import { type ByteSource, type FileSet, type HubChoice, MissingFile } from "./byte_source.js";
import { type CacheKind, storeFor } from "./cache/stores.js";
import { withCache } from "./cache/source.js";
import { type HttpOptions, openHttp } from "./http/source.js";
import type { OpenUrl } from "./http/urls.js";
import { changed, RopewalkError } from "../../core/base/errors.js";
import { networkError } from "./errors.js";
import type { FilePlatform } from "./platform.js";
import { bearer } from "./hub/access.js";
import { chooseAdapter, chooseModel } from "./hub/choose.js";
import type { HubDisk } from "./hub/disk.js";
import { explainRefusal } from "./hub/explain.js";
import type { HubName } from "./hub/name.js";
import { fileUrl, listingUrl, readRepository, type Repository } from "./hub/repository.js";

/** How to reach the Hub. @internal */
export interface HubAccess {
  /** Its address, without a slash at the end. */
  readonly hub: string;
  readonly token: string | undefined;
  readonly http: HttpOptions;
  readonly cache?: CacheKind;
  readonly warn: (message: string) => void;
  readonly wanted: "model" | "adapter";
}

/** The part of wasm memory (4 GB) for weights: the rest is for caches and what a call needs. */
const MAX_WEIGHTS = 3 * 2 ** 30;

/** What a device is assumed to have that doesn't say. */
const USUAL_MEMORY = 4 * 2 ** 30;

/**
 * Finds and chooses the files of a model. Opens none.
 *
 * @throws NETWORK, INVALID_ARGUMENT, UNSUPPORTED_MODEL; the signal's reason after an abort
 * @internal
 */
export async function openHub(
  platform: FilePlatform,
  name: HubName,
  access: HubAccess,
  signal?: AbortSignal,
): Promise<FileSet> {
  const { hub, cache } = access;
  const isOnDisk = (cache ?? "disk") === "disk" && platform.hubDisk !== undefined;
  const disk = isOnDisk ? await platform.hubDisk() : undefined;
  const store = isOnDisk ? undefined : await storeFor(platform, cache, access.warn);
  const open = openFrom(name, access);
  const kept =
    store && withCache(open.latest, store, listingUrl(hub, name.repository, name.revision).href, access.warn);
  const { why, ...repository } = await repositoryOf(
    name,
    access,
    isOffline(platform) ? undefined : (kept ?? open.latest),
    disk,
    signal,
  );
  const memory = Math.min((platform.memoryBytes?.() ?? USUAL_MEMORY) / 2, MAX_WEIGHTS);
  const choose = access.wanted === "adapter" ? chooseAdapter : chooseModel;
  const { path, size, reason } = ofKept(name, why, () => choose(name, repository.files, memory));
  const choice: HubChoice = {
    repository: name.repository,
    commit: repository.commit,
    file: path,
    reason,
    ...(size !== undefined && { bytes: size }),
  };
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  const names = repository.files.flatMap((file) =>
    file.path.startsWith(folder) ? [file.path.slice(folder.length)] : [],
  );
  const fromHub =
    store === undefined
      ? open.at(repository.commit)
      : withCache(
          open.at(repository.commit),
          store,
          fileUrl(hub, name.repository, name.revision, path).href,
          access.warn,
        );
  const identity = { ...choice, revision: name.revision, warn: access.warn };
  return {
    requested: path.slice(folder.length),
    names,
    hub: choice,
    async open(file, fileSignal): Promise<ByteSource | MissingFile> {
      const listed = repository.files.find((other) => other.path === folder + file);
      if (listed === undefined)
        return new MissingFile("NETWORK", `${name.repository} has no file ${folder}${file} at ${name.revision}`);
      const fetched = (): Promise<ByteSource | MissingFile> =>
        fromHub(fileUrl(hub, name.repository, name.revision, listed.path), file, fileSignal);
      if (disk === undefined) return fetched();
      return disk.open({ ...identity, file: listed }, file, fetched, fileSignal);
    },
  };
}

/** What a repository contains. `why` says why it is only what is kept of it on disk. */
type Listed = Repository & { readonly why?: string };

/** What isn't kept may well be in the repository. */
function ofKept<T>(name: HubName, why: string | undefined, choose: () => T): T {
  try {
    return choose();
  } catch (error) {
    if (why === undefined || !(error instanceof RopewalkError)) throw error;
    return networkError(name.repository, `what was asked for isn't kept on disk (${error.problem}), and ${why}`, {
      cause: error,
    });
  }
}

/** Whether the Hub isn't to be asked for anything. */
function isOffline(platform: FilePlatform): boolean {
  return /^(1|true|yes|on)$/i.test(platform.environment?.()["HF_HUB_OFFLINE"] ?? "");
}

/** What the repository contains. If the Hub can't be reached, or there is no `open`, what is kept of it on disk. */
async function repositoryOf(
  name: HubName,
  access: HubAccess,
  open: OpenUrl | undefined,
  disk: HubDisk | undefined,
  signal: AbortSignal | undefined,
): Promise<Listed> {
  const kept = async (why: string): Promise<Listed | undefined> => {
    const found = await disk?.repository(name);
    if (found !== undefined) access.warn(`${name.repository}: using what is kept of commit ${found.commit} (${why})`);
    return found && { ...found, why };
  };
  if (open === undefined) {
    const why = "HF_HUB_OFFLINE is set";
    return (
      (await kept(why)) ??
      networkError(name.repository, `isn't kept on disk, and ${why}`, advise.other("unset it to download"))
    );
  }
  try {
    return await readRepository(access.hub, name, open, signal);
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.code !== "NETWORK") throw error;
    const found = await kept(error.problem);
    if (found !== undefined) return found;
    if (disk === undefined) throw error;
    throw changed(error, { problem: `${error.problem}, and no file or folder here has this name`, cause: error });
  }
}

/** Opens files of the Hub: as addresses name them, and with the revision replaced by a commit, so that all are of the same one. */
function openFrom(
  name: HubName,
  { hub, token, http }: HubAccess,
): { latest: OpenUrl; at: (commit: string) => OpenUrl } {
  const options: HttpOptions = {
    ...http,
    headers: token === undefined ? http.headers : bearer(token, http.headers),
    explain: (response) => explainRefusal(hub, name, hasToken(http, token), response),
  };
  const latest: OpenUrl = (url, file, signal, firstBytes) => openHttp(url, file, options, signal, firstBytes);
  const from = `/resolve/${encodeURIComponent(name.revision)}/`;
  const at = (commit: string): OpenUrl => {
    return (url, ...rest) => latest(new URL(url.href.replace(from, `/resolve/${commit}/`)), ...rest);
  };
  return { latest, at };
}

function hasToken({ headers }: HttpOptions, token: string | undefined): boolean {
  return token !== undefined || Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}
