// The package's types as users' tools see them: publint, are-the-types-wrong, and a strict program compiled against the installed package.

import { cp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { capture } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs the program that a package of node_modules installs, and throws what it prints when it fails. */
export async function runTool(name, args, options = {}) {
  const manifest = join(root, "node_modules", name, "package.json");
  const { bin } = createRequire(import.meta.url)(manifest);
  const script = join(dirname(manifest), typeof bin === "string" ? bin : Object.values(bin)[0]);
  await capture(process.execPath, [script, ...args], { cwd: root, ...options }).catch(({ stdout, stderr, message }) => {
    throw new Error(stdout || stderr ? `${stdout}${stderr}` : message);
  });
}

export function checkManifest(tarball) {
  return runTool("publint", ["run", tarball, "--strict"]);
}

/** ESM only, so CommonJS resolutions are left out; so are the wasm files, which are assets. */
export function checkResolution(tarball) {
  const assets = ["./ropewalk.wasm", "./ropewalk.relaxed.wasm"];
  return runTool("@arethetypeswrong/cli", [
    tarball,
    "--profile",
    "esm-only",
    "--no-color",
    "--no-emoji",
    "--exclude-entrypoints",
    ...assets,
  ]);
}

/** How users compile: Node's resolution or a bundler's, and with no newer library than the package itself asks for. */
const userOptions = {
  nodenext: {
    module: "nodenext",
    moduleResolution: "nodenext",
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  },
  "bundler, isolated modules": {
    module: "preserve",
    moduleResolution: "bundler",
    isolatedModules: true,
    verbatimModuleSyntax: true,
  },
  "bundler, older library": { module: "esnext", moduleResolution: "bundler", lib: ["es2020", "dom"] },
};

/** The ways of compiling that are tried. */
export const userPrograms = Object.keys(userOptions);

/** Compiles tests/package/types/user.ts in a folder with the package installed; declarations of the package are checked too. */
export async function compileUser(folder, name) {
  await cp(join(root, "tests", "package", "types", "user.ts"), join(folder, "user.ts"));
  const common = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    target: "es2022",
    lib: ["es2022", "dom"],
    types: [],
  };
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...common, ...userOptions[name] }, files: ["user.ts"] }),
  );
  await runTool("typescript", ["--project", join(folder, "tsconfig.json")]);
}
