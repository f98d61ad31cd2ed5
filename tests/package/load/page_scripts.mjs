// The scripts that a page loads.
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** The names, in a folder, of an entry and of the files it imports. `dynamic` says which `import()` to follow: none by default. */
export function scriptsOf(folder, entry, dynamic = () => false) {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    const code = readFileSync(path, "utf8");
    for (const [, specifier] of code.matchAll(/\b(?:from|import)\s*"(\.[^"]+)"/g))
      visit(resolve(dirname(path), specifier));
    for (const [, specifier] of code.matchAll(/\bimport\(\s*"(\.[^"]+)"/g))
      if (dynamic(specifier)) visit(resolve(dirname(path), specifier));
  };
  visit(join(folder, entry));
  return [...seen].map((path) => relative(folder, path));
}
