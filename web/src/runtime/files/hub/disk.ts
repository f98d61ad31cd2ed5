// What a folder of downloads offers, where there is one: Node's is in disk.node.ts.
import type { ByteSource, MissingFile } from "../byte_source.js";
import type { HubName } from "./name.js";
import type { HubFile, Repository } from "./repository.js";

/** A file of a commit. @internal */
export interface HubFileAt {
  readonly repository: string;
  /** The revision that was asked for. */
  readonly revision: string;
  readonly commit: string;
  readonly file: HubFile;
  /** Called if the file can't be kept. */
  readonly warn: (message: string) => void;
}

/** A repository of which something is kept. @internal */
export interface KeptRepository {
  readonly repository: string;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Bytes of all its files: more than `bytes` if a download was interrupted. */
  readonly size: number;
}

/** Models of the Hub on disk. @internal */
export interface HubDisk {
  /** The commit that was last kept of a revision, and which of its files are. */
  repository(name: HubName): Promise<Repository | undefined>;
  /**
   * Opens a file that is kept, or else the one from `fetched`: a small file is kept at once, a file of weights while it is read.
   * @param name for messages
   */
  open(
    at: HubFileAt,
    name: string,
    fetched: () => Promise<ByteSource | MissingFile>,
    signal?: AbortSignal,
  ): Promise<ByteSource | MissingFile>;
  /** All repositories of which something is kept. */
  list(): Promise<KeptRepository[]>;
  /** Removes a repository. Resolves with whether something was kept. */
  remove(repository: string): Promise<boolean>;
}
