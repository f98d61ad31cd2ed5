// Access to files in Node: local ones, those on servers, and those of the Hub that are kept on disk.
import { node } from "../../core/base/builtins.node.js";
import { type FilePlatform, webFiles } from "./platform.js";

/** @internal */
export const nodeFilePlatform: FilePlatform = {
  fetch: webFiles.fetch,
  openPath: async (path) => (await import("./node_files.js")).nodeFiles(path),
  pathExists: async (path) => (await node.fs.stat(path).catch(() => undefined)) !== undefined,
  hubDisk: async () => (await import("./hub/disk.node.js")).nodeDisk(process.env),
  memoryBytes: () => node.os.totalmem(),
  environment: () => process.env,
  keptFiles: async () => (await import("./kept_files.node.js")).diskKeptFiles,
};

/** Reads a local file by its path or `file:` address. @internal */
export const readLocal = (address: string | URL): Promise<Uint8Array> =>
  node.fs.readFile(/^file:/.test(String(address)) ? new URL(address) : address);
