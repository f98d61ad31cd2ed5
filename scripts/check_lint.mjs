// Style and documentation: typescript-eslint, clang-format, and TypeDoc into docs/api/.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runTool } from "./check_types.mjs";
import { capture } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export function checkTypeScript() {
  return runTool("eslint", ["web/src", "--max-warnings", "0"]);
}

export async function checkFormat() {
  const listed = await capture(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h"],
    { cwd: root },
  );
  await capture("clang-format", ["--dry-run", "-Werror", ...listed.split("\0").filter(Boolean)], { cwd: root });
}

export function checkDocumentation() {
  return runTool("typedoc", ["--options", join(root, "typedoc.json"), "--logLevel", "Warn"]);
}
