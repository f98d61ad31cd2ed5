// Models of the Hub on disk, in the folder and layout of huggingface_hub, so that both programs use the same files:
//
//   models--org--name/blobs/<etag>                   the contents of a file
//   models--org--name/snapshots/<commit>/<path>      a link to one
//   models--org--name/refs/<revision>                the commit of a branch or tag
//
// A download has a name of its own, `<etag>.<size>.ropewalk.incomplete`, and gets that of a blob once it is complete and its digest is right.
import * as advise from "../../../core/base/advice.js";
import { node } from "../../../core/base/builtins.node.js";
import { RopewalkError } from "../../../core/base/errors.js";
import { type ByteSource, MissingFile, readRange } from "../byte_source.js";
import { MAX_HEADER_BYTES } from "../limits.js";
import { openNode } from "../node_files.js";
import type { HubDisk, HubFileAt, KeptRepository } from "./disk.js";
import type { HubName } from "./name.js";
import { downloadWhileReading, hasDigest } from "./download.node.js";
import type { HubFile, Repository } from "./repository.js";
import { isUnfinished, removeUnfinished, writeThenName } from "../whole_file.node.js";

const COMMIT = /^[0-9a-f]{40}$/;
const INCOMPLETE = /\.(\d+)\.ropewalk\.incomplete$/;
const WEIGHTS = /\.(gguf|safetensors)$/i;

/** The folder of huggingface_hub, by its environment variables. @internal */
export function hubFolder(variables: Readonly<Record<string, string | undefined>>): string {
  const home = (path: string): string => path.replace(/^~(?=$|[\\/])/, node.os.homedir());
  const cache = variables["XDG_CACHE_HOME"] || node.path.join(node.os.homedir(), ".cache");
  const root = variables["HF_HOME"] || node.path.join(cache, "huggingface");
  return home(variables["HF_HUB_CACHE"] || variables["HUGGINGFACE_HUB_CACHE"] || node.path.join(root, "hub"));
}

/** Models of the Hub in a folder. @internal */
export function nodeDisk(variables: Readonly<Record<string, string | undefined>>): HubDisk {
  return new NodeDisk(hubFolder(variables));
}

class NodeDisk implements HubDisk {
  constructor(private readonly root: string) {}

  async repository({ repository, revision }: HubName): Promise<Repository | undefined> {
    const folder = this.#folderOf(repository);
    const commit = COMMIT.test(revision)
      ? revision
      : (await node.fs.readFile(node.path.join(folder, "refs", revision), "utf8").catch(() => "")).trim();
    if (!COMMIT.test(commit)) return undefined;
    const snapshot = node.path.join(folder, "snapshots", commit);
    const paths = await node.fs.readdir(snapshot, { recursive: true }).catch(() => []);
    const files = await Promise.all(
      paths.map(async (path): Promise<HubFile[]> => {
        const found = await node.fs.stat(node.path.join(snapshot, path)).catch(() => undefined); // of a link, what it leads to
        return found?.isFile() === true ? [{ path: path.replaceAll("\\", "/"), size: found.size }] : [];
      }),
    );
    return files.length === 0 ? undefined : { commit, files: files.flat() };
  }

  async open(
    at: HubFileAt,
    name: string,
    fetched: () => Promise<ByteSource | MissingFile>,
    signal?: AbortSignal,
  ): Promise<ByteSource | MissingFile> {
    const { file } = at;
    const path = this.#snapshotPath(at);
    if (await hasSize(path, file.size)) {
      await this.#refer(at).catch(() => undefined); // a disk that is full or read-only
      return openNode(path, name);
    }
    if (file.etag !== undefined && file.size !== undefined && (await hasSize(this.#blob(at), file.size))) {
      const linked = await this.#link(at).then(
        () => true,
        () => false,
      );
      return openNode(linked ? path : this.#blob(at), name);
    }
    const source = await fetched();
    if (source instanceof MissingFile) return source;
    const { etag, size } = file;
    if (etag === undefined || size !== source.size) {
      at.warn(`${name}: not kept on disk: the server doesn't list its length and digest`);
      return source;
    }
    if (!WEIGHTS.test(file.path) && size <= MAX_HEADER_BYTES) return this.#keepSmall(at, source, signal);
    return {
      name: source.name,
      size,
      seekCost: source.seekCost,
      stream: (start, end, reading) => source.stream(start, end, reading),
      kept: this.#keptWhileRead(at, source),
    };
  }

  async list(): Promise<KeptRepository[]> {
    const folders = (await node.fs.readdir(this.root).catch(() => [])).filter((name) => /^models--./.test(name));
    const listed = await Promise.all(
      folders.map(async (name): Promise<KeptRepository> => {
        const paths = await node.fs.readdir(node.path.join(this.root, name), { recursive: true }).catch(() => []);
        let [bytes, size] = [0, 0];
        for (const path of paths) {
          const found = await node.fs.lstat(node.path.join(this.root, name, path)).catch(() => undefined);
          if (found?.isFile() !== true || !/^(blobs|snapshots)[\\/]/.test(path) || isUnfinished(path)) continue;
          bytes += found.size;
          size += Number(INCOMPLETE.exec(path)?.[1] ?? found.size);
        }
        return { repository: name.slice("models--".length).replace("--", "/"), bytes, size };
      }),
    );
    return listed.filter(({ bytes }) => bytes > 0);
  }

  async remove(repository: string): Promise<boolean> {
    const folder = this.#folderOf(repository);
    const existed = (await node.fs.stat(folder).catch(() => undefined)) !== undefined;
    await node.fs.rm(folder, { recursive: true, force: true });
    return existed;
  }

  #folderOf(repository: string): string {
    return node.path.join(this.root, `models--${repository.replace("/", "--")}`);
  }

  #snapshotPath({ repository, commit, file }: HubFileAt): string {
    return node.path.join(this.#folderOf(repository), "snapshots", commit, ...file.path.split("/"));
  }

  #blob({ repository, file }: HubFileAt): string {
    return node.path.join(this.#folderOf(repository), "blobs", file.etag!);
  }

  /** Keeps a file that is read whole anyway. */
  async #keepSmall(at: HubFileAt, source: ByteSource, signal?: AbortSignal): Promise<ByteSource | MissingFile> {
    const bytes = await readRange(source, 0, source.size, signal);
    try {
      const blob = this.#blob(at);
      const folder = node.path.dirname(blob);
      await node.fs.mkdir(folder, { recursive: true });
      await removeUnfinished(folder);
      await writeThenName(blob, bytes, (unfinished) => this.#complete(at, unfinished));
      return await openNode(this.#snapshotPath(at), source.name);
    } catch (error) {
      at.warn(`${source.name}: not kept on disk: ${(error as Error).message}`);
      return source;
    }
  }

  /** A file that is written to disk while it is read. */
  #keptWhileRead(at: HubFileAt, source: ByteSource): ByteSource {
    const partial = `${this.#blob(at)}.${source.size}.ropewalk.incomplete`;
    return {
      name: source.name,
      size: source.size,
      seekCost: Infinity, // one stream, front to back
      stream: (start, end, signal) =>
        downloadWhileReading(source, partial, { start, end }, at.warn, () => this.#complete(at, partial), signal),
    };
  }

  /** Makes a complete download a file of the repository. @throws if it isn't what the Hub lists, or can't be moved */
  async #complete(at: HubFileAt, partial: string): Promise<void> {
    const blob = this.#blob(at);
    const unlessKept = async (error: unknown): Promise<void> => {
      if (!(await hasSize(blob, at.file.size))) throw error; // else another process was faster
    };
    if ((await hasDigest(partial, at.file.etag!).catch(unlessKept)) === false) {
      await node.fs.rm(partial, { force: true });
      throw new RopewalkError(
        "INVALID_FILE",
        `${at.file.path}: file`,
        "its bytes don't have the digest that the Hub lists: the download was damaged",
        advise.other("open the model again"),
      );
    }
    await node.fs.rename(partial, blob).catch(unlessKept);
    await this.#link(at);
  }

  async #link(at: HubFileAt): Promise<void> {
    const { file } = at;
    const [blob, path] = [this.#blob(at), this.#snapshotPath(at)];
    await node.fs.mkdir(node.path.dirname(path), { recursive: true });
    if (!(await hasSize(path, file.size))) {
      await node.fs.rm(path, { force: true });
      await node.fs.symlink(node.path.relative(node.path.dirname(path), blob), path).catch(async (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") return; // by another process
        await node.fs.rename(blob, path); // Windows allows links only to some: huggingface_hub moves the file there, too
      });
    }
    await this.#refer(at);
  }

  /** Makes the commit that of its revision, unless it is. */
  async #refer({ repository, revision, commit }: HubFileAt): Promise<void> {
    if (revision === commit) return;
    const ref = node.path.join(this.#folderOf(repository), "refs", revision);
    if ((await node.fs.readFile(ref, "utf8").catch(() => "")).trim() === commit) return;
    await node.fs.mkdir(node.path.dirname(ref), { recursive: true });
    await writeThenName(ref, commit);
  }
}

async function hasSize(path: string, size: number | undefined): Promise<boolean> {
  const found = await node.fs.stat(path).catch(() => undefined);
  return found?.isFile() === true && (size === undefined || found.size === size);
}
