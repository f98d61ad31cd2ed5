// The Python environment of the reference packages (transformers, tokenizers, Jinja2, llama.cpp), in the cache outside the repository.
//
// `node scripts/setup/python.mjs` makes it and prints the path of its python. The first time downloads some 4 GB and compiles llama.cpp.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runMain } from "../run.mjs";
import { cacheFolder } from "./cache.mjs";
import { findProgram } from "./machine.mjs";
import { capture, run } from "./process.mjs";

const root = join(import.meta.dirname, "..", "..");
const requirements = join(root, "tests", "golden", "generate", "random", "requirements.txt");
const oldest = [3, 11];

/**
 * Returns the path of a python that has the packages of requirements.txt: `ROPEWALK_PYTHON`, or that of an environment which is made first if
 * there is none for these versions.
 */
export function referencePython() {
  if (process.env.ROPEWALK_PYTHON) return process.env.ROPEWALK_PYTHON;
  const base = findProgram("python3") ?? findProgram("python");
  if (base === undefined) throw new Error("Python is missing: install it, or set ROPEWALK_PYTHON");
  const version = capture(base, ["-c", "import sys; print(*sys.version_info[:3], sep='.')"]).trim();
  const [major, minor] = version.split(".").map(Number);
  if (major !== oldest[0] || minor < oldest[1])
    throw new Error(`Python ${oldest.join(".")} or later is needed, or ROPEWALK_PYTHON (got ${version})`);

  const wanted = readFileSync(requirements, "utf8");
  const key = createHash("sha256").update(`${version}\n${wanted}`).digest("hex").slice(0, 12);
  const folder = join(cacheFolder(), `python-${key}`);
  const python = process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
  const complete = join(folder, "complete");
  if (existsSync(complete)) return python;

  console.log(`  installing the packages of ${requirements.slice(root.length + 1)} into ${folder}`);
  rmSync(folder, { recursive: true, force: true }); // an installation that was interrupted
  mkdirSync(cacheFolder(), { recursive: true });
  run(base, ["-m", "venv", folder]);
  run(python, ["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "-r", requirements]);
  writeFileSync(complete, "");
  return python;
}

/** What programs of the environment need: one thread for the same sums everywhere, and no attempt to reach a hub. */
export const referenceEnvironment = { OMP_NUM_THREADS: "1", HF_HUB_OFFLINE: "1", TOKENIZERS_PARALLELISM: "false" };

await runMain(import.meta.url, () => console.log(referencePython()));
