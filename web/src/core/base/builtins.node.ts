// Node's modules, which Bun and Deno have too, for scripts that also run in pages. They aren't imported, because bundlers for pages refuse that.
import type * as crypto from "node:crypto";
import type * as streams from "node:fs";
import type * as fs from "node:fs/promises";
import type * as os from "node:os";
import type * as path from "node:path";
import type * as url from "node:url";
import type * as threads from "node:worker_threads";

interface NodeProcess {
  /** Electron's pages are "renderer". */
  readonly type?: string;
  getBuiltinModule?(name: string): unknown;
}

const nodeProcess = (): NodeProcess | undefined => (globalThis as { process?: NodeProcess }).process;

/** Whether this is Node, or a system with its modules. Electron's pages count as pages. @internal */
export function isNode(): boolean {
  const process = nodeProcess();
  return typeof process?.getBuiltinModule === "function" && process.type !== "renderer";
}

const builtin = (name: string): unknown => nodeProcess()!.getBuiltinModule!(`node:${name}`);

/** Node's modules. @internal */
export const node = {
  get crypto(): typeof crypto {
    return builtin("crypto") as typeof crypto;
  },
  get fs(): typeof fs {
    return builtin("fs/promises") as typeof fs;
  },
  /** The part of `node:fs` that has no promises. */
  get streams(): Pick<typeof streams, "constants" | "createReadStream"> {
    return builtin("fs") as typeof streams;
  },
  get os(): typeof os {
    return builtin("os") as typeof os;
  },
  get path(): typeof path {
    return builtin("path") as typeof path;
  },
  get threads(): typeof threads {
    return builtin("worker_threads") as typeof threads;
  },
  get url(): typeof url {
    return builtin("url") as typeof url;
  },
};
