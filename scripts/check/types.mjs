// Checks the package's types the way users' tools see them: publint, are-the-types-wrong, and strict programs compiled against it.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cp, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { capture, output } from "../run.mjs";

const root = join(import.meta.dirname, "..", "..");
const inRepository = { cwd: root, preferLocal: true };

export async function checkManifest(tarball) {
  await capture("publint", ["run", tarball, "--strict"], inRepository);
}

/** Rehearses publishing against a registry that has no package yet. Throws if npm refuses, warns of a mend to package.json, or sends anything. */
export async function checkPublishing(tarball) {
  const sent = [];
  const registry = createServer(({ method, url }, response) => {
    if (method !== "GET") sent.push(`${method} ${url}`);
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
  });
  await once(registry.listen(0, "127.0.0.1"), "listening");
  try {
    const address = `http://127.0.0.1:${registry.address().port}/`;
    // npm says on its standard error what it would publish
    const options = ["--dry-run", "--access", "public", "--registry", address];
    const { stdout, stderr } = await output("npm", ["publish", tarball, ...options]);
    if (!/^\+ ropewalk@\d/m.test(stdout)) throw new Error(`npm publish --dry-run didn't end as expected:\n${stdout}`);
    if (/auto-corrected|npm warn publish (?!This command requires you to be logged in)/.test(stderr))
      throw new Error(stderr);
    if (sent.length > 0) throw new Error(`npm publish --dry-run sent ${sent.join(", ")}`);
  } finally {
    registry.close();
  }
}

/** The package is ESM only, so this skips CommonJS resolution. It also skips the wasm files, which are assets. */
export async function checkResolution(tarball) {
  const assets = ["./ropewalk.wasm", "./ropewalk.relaxed.wasm"];
  const options = ["--profile", "esm-only", "--no-color", "--no-emoji", "--exclude-entrypoints", ...assets];
  await capture("attw", [tarball, ...options], inRepository);
}

/** How users compile: with Node's resolution or a bundler's, and with the oldest library that the package supports. */
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
  "Node without the DOM library": {
    module: "preserve",
    moduleResolution: "bundler",
    lib: ["es2022"],
    types: ["node"],
  },
  "bundler, older library": { module: "esnext", moduleResolution: "bundler", lib: ["es2020", "dom"] },
};

/** The oldest TypeScript that the declarations are for. */
const OLDEST = "typescript@5.4";

/** How user.ts is compiled: with this repository's TypeScript, and with the oldest one, both at once. */
export const userPrograms = Object.keys(userOptions).map((name) => [name, `${name}, ${OLDEST}`]);

/** Installs what users have besides the package, and their programs. */
export async function installUsers(folder) {
  await capture("npm", ["install", "--no-audit", "--no-fund", OLDEST, "@types/node@20"], { cwd: folder });
  for (const file of ["user.ts", "user_of_ai_sdk.ts"])
    await cp(join(root, "tests", "package", "types", file), join(folder, file));
}

/**
 * Compiles tests/package/types/user.ts in a folder where the package and {@link installUsers} are installed. Checks the package's
 * declarations too.
 */
export async function compileUser(folder, program) {
  const [, name, oldest] = /^(.*?)(, typescript@.*)?$/.exec(program);
  const compiler = join(oldest === undefined ? root : folder, "node_modules", "typescript", "bin", "tsc");
  await compile(folder, "user.ts", { skipLibCheck: false, ...userOptions[name] }, compiler);
}

/**
 * Compiles user_of_ai_sdk.ts with the types of `@ai-sdk/provider`, which only this entry needs: the programs before are compiled without
 * them. Its declarations aren't checked.
 */
export async function compileUserOfAiSdk(folder) {
  const { version } = JSON.parse(
    await readFile(join(root, "node_modules", "@ai-sdk", "provider", "package.json"), "utf8"),
  );
  const packages = [`@ai-sdk/provider@${version}`, "@types/json-schema"];
  await capture("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: folder });
  for (const from of [root, folder]) {
    const compiler = join(from, "node_modules", "typescript", "bin", "tsc");
    await compile(folder, "user_of_ai_sdk.ts", { skipLibCheck: true, ...userOptions.nodenext }, compiler);
  }
}

/** Compiles a program of {@link installUsers}. */
async function compile(folder, file, options, compiler) {
  const common = {
    strict: true,
    noEmit: true,
    target: "es2022",
    lib: ["es2022", "dom"],
    types: [],
  };
  const config = join(folder, `tsconfig.${randomUUID()}.json`); // another program may be compiled meanwhile
  await writeFile(config, JSON.stringify({ compilerOptions: { ...common, ...options }, files: [file] }));
  await capture(process.execPath, [compiler, "--project", config], inRepository);
}
