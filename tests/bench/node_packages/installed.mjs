// Installs packages as a user does, each in an empty folder of build/node_packages/, and says what that took.
import { existsSync } from "node:fs";
import { lstat, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { capture } from "../../../scripts/run.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const MB = 2 ** 20;

/** The variable that an installation which failed is repeated with. */
export const WITHOUT_DOWNLOADS = "ONNXRUNTIME_NODE_INSTALL=skip";

/**
 * Installs `spec` unless it is there already. Returns `{ folder, version, megabytes, packages, addOns, scripts, failure }`: the bytes of all files
 * in node_modules, the number of packages, of native add-ons and of packages with a script that runs when they are installed, and why npm failed
 * before the scripts' downloads were turned off, if it did.
 */
export async function install(name, spec) {
  const folder = join(root, "build", "node_packages", name.replace(/\W/g, "_"));
  const record = join(folder, "installed.json");
  if (!existsSync(record)) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
    const failure = await tryToInstall(folder, spec);
    await writeFile(record, JSON.stringify({ ...(await measure(folder, name)), failure }));
  }
  return { folder, ...JSON.parse(await readFile(record, "utf8")) };
}

async function tryToInstall(folder, spec) {
  const npm = (env) =>
    capture("npm", ["install", spec, "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: folder,
      env: { ...process.env, ...env },
    });
  try {
    await npm({});
    return undefined;
  } catch (error) {
    await npm(Object.fromEntries([WITHOUT_DOWNLOADS.split("=")]));
    return /Error: (.+)/.exec(`${error.stderr ?? ""}${error.message}`)?.[1] ?? "npm failed";
  }
}

async function measure(folder, name) {
  const entries = await readdir(join(folder, "node_modules"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await lstat(join(file.parentPath, file.name))).size));
  const { packages } = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8"));
  const installed = Object.entries(packages).filter(([path]) => path !== "" && existsSync(join(folder, path)));
  return {
    version: packages[`node_modules/${name}`].version,
    megabytes: sizes.reduce((sum, size) => sum + size, 0) / MB,
    packages: installed.length,
    addOns: files.filter((file) => file.name.endsWith(".node")).length,
    scripts: installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, "")),
  };
}
