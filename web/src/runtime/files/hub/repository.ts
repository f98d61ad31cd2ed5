// What a repository of the Hub contains: its commit and its files, from one request to the Hub's API.
//
// The library @huggingface/hub 2.17 isn't used. Its listing alone is 8 KB with gzip, with downloads 17 KB, where this folder is 4 KB, and it
// doesn't bundle for pages without replacements for Node's modules. Listing a repository and reading a file are one documented request each,
// and this package's reader of servers already has the ranges, retries, caches and care for tokens that a download needs.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { MissingFile } from "../byte_source.js";
import { networkError } from "../errors.js";
import type { OpenUrl } from "../http/urls.js";
import { readJson } from "../json_file.js";
import { MAX_FILES } from "../limits.js";
import type { HubName } from "./name.js";

/** A file of a repository. @internal */
export interface HubFile {
  readonly path: string;
  /** Length in bytes; undefined if the Hub doesn't say. */
  readonly size?: number;
  /** Identifies its contents: the SHA-256 of a large file, the git object id of a small one. */
  readonly etag?: string;
}

/** A revision of a repository. @internal */
export interface Repository {
  /** The commit. */
  readonly commit: string;
  readonly files: readonly HubFile[];
}

/** Reads what a repository contains. @throws NETWORK; the signal's reason after an abort @internal */
export async function readRepository(
  hub: string,
  { repository, revision }: HubName,
  open: OpenUrl,
  signal?: AbortSignal,
): Promise<Repository> {
  const url = listingUrl(hub, repository, revision);
  const source = await open(url, repository, signal);
  if (source instanceof MissingFile) return networkError(repository, source.reason, source.advised);
  const { sha, siblings } = await readJson(source, signal);
  if (typeof sha !== "string" || !/^[0-9a-f]{40}$/.test(sha) || !Array.isArray(siblings))
    return networkError(repository, `${url.href}: the answer isn't that of a Hub`, advise.hubAddress());
  const files = siblings.flatMap(fileOf).slice(0, 4 * MAX_FILES);
  return { commit: sha, files };
}

/** A file with a path that stays inside the repository. Others are left out. */
function fileOf(entry: unknown): HubFile[] {
  if (!isDict(entry)) return [];
  const { rfilename: path, size, blobId, lfs } = entry;
  if (typeof path !== "string" || !isInside(path)) return [];
  const etag = isDict(lfs) ? (lfs["sha256"] ?? lfs["oid"]) : blobId;
  return [
    {
      path,
      ...(Number.isSafeInteger(size) && (size as number) >= 0 && { size: size as number }),
      ...(typeof etag === "string" && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(etag) && { etag }),
    },
  ];
}

function isInside(path: string): boolean {
  return path.length <= 1024 && path.split("/").every((part) => !/^\.*$/.test(part)) && !/[\\:\p{Cc}]/u.test(path);
}

/** Address of the list of a repository's files. @internal */
export function listingUrl(hub: string, repository: string, revision: string): URL {
  return new URL(`${hub}/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`);
}

/** Whether an address is that of a list of files. @internal */
export function isListing(address: string): boolean {
  return /\/api\/models\/[^/]+\/[^/]+\/revision\/[^/]+\?blobs=true$/.test(address);
}

/** Whether an address is that of a repository's files, or of their list. @internal */
export function isOfRepository(address: string, repository: string): boolean {
  return address.includes(`/${repository}/resolve/`) || address.includes(`/api/models/${repository}/revision/`);
}

/** Address of a file of a repository. @internal */
export function fileUrl(hub: string, repository: string, revision: string, path: string): URL {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return new URL(`${hub}/${repository}/resolve/${encodeURIComponent(revision)}/${encoded}`);
}
