// Access to files in Node: local ones, those on servers, and those of the Hub that are kept on disk.
import { stat } from "node:fs/promises";
import { totalmem } from "node:os";
import { type FilePlatform, webFiles } from "./platform.js";

/** @internal */
export const nodeFilePlatform: FilePlatform = {
  fetch: webFiles.fetch,
  openPath: async (path) => (await import("./node_files.js")).nodeFiles(path),
  pathExists: async (path) => (await stat(path).catch(() => undefined)) !== undefined,
  hubDisk: async () => (await import("./hub/disk.node.js")).nodeDisk(process.env),
  memoryBytes: totalmem,
  environment: () => process.env,
};
