// Files in the repository that scripts write, and that tests compare.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Writes a file, or with `--check` among the arguments throws an error if it has another text. */
export async function writeOrCheck(args, path, text, advice) {
  const target = join(root, path);
  if (!args.includes("--check")) await writeFile(target, text);
  else if ((await readFile(target, "utf8")) !== text) throw new Error(`${path} isn't up to date: ${advice}`);
}
