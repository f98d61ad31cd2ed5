// Checks style and documentation: ESLint, Prettier, clang-format, and TypeDoc, which writes docs/api/.

import { join } from "node:path";
import { capture } from "../run.mjs";

const root = join(import.meta.dirname, "..", "..");
const inRepository = { cwd: root, preferLocal: true };

/** Looks only at files that changed since the last time. */
export const CACHED = { cached: true };

const cacheOptions = (name) => [
  "--cache",
  "--cache-strategy",
  "content",
  "--cache-location",
  join(root, "build", name),
];

export async function checkCode({ cached = false } = {}) {
  const options = cached ? cacheOptions("eslint.cache") : [];
  await capture("eslint", [".", "--max-warnings", "0", ...options], inRepository);
}

export async function checkSiteTypes() {
  for (const project of ["tsconfig.json", "tsconfig.worker.json"])
    await capture("tsc", ["-p", join(root, "web", "site", project)], inRepository);
}

export async function checkPrettier({ cached = false } = {}) {
  await capture("prettier", ["--check", ".", ...(cached ? cacheOptions("prettier.cache") : [])], inRepository);
}

export async function checkClangFormat() {
  const options = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h"];
  const files = (await capture("git", options, inRepository)).split("\0").filter(Boolean);
  await capture("clang-format", ["--dry-run", "-Werror", ...files], inRepository);
}

export async function checkDocumentation() {
  await capture("typedoc", ["--options", join(root, "typedoc.json"), "--logLevel", "Warn"], inRepository);
}
