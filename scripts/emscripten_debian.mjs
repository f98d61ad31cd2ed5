// Unpacks Emscripten from a newer Debian into .toolchain/ of this checkout, without root and without touching the system.
//
// Debian 12 has only Emscripten 3.1.6. Testing has a current one, which needs a newer C library than the machine's. So: an apt with a state
// of its own downloads the packages, dpkg-deb unpacks them, and patchelf makes the programs use the libraries unpacked beside them.
//
//   .toolchain/bin/         emcc, em++ … : small shell scripts that set the environment; and cmake/, Emscripten's CMake modules
//   .toolchain/emscripten   Emscripten's own folder (a link into the prefix)
//   .toolchain/prefix/      the unpacked packages
//   .toolchain/cache/       Emscripten's system libraries, compiled when first used
//   .toolchain/ready.json   written last: what is there is complete, and for this place

import { chmod, mkdir, open, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { debianMirror } from "./debian.mjs";
import { isNewEnough, versionOf } from "./emscripten_version.mjs";
import { capture, run } from "./run.mjs";

const home = join(dirname(dirname(fileURLToPath(import.meta.url))), ".toolchain");
/** The folder of the programs to call. */
export const privateFolder = join(home, "bin");
const prefix = join(home, "prefix");
const ready = join(home, "ready.json");
const suite = "forky";
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
// Where a Debian architecture keeps its libraries, and the name of the loader there. Others are not tried yet.
const architectures = { amd64: { libraries: "x86_64-linux-gnu", loader: "ld-linux-x86-64.so.2" } };

const environment = {
  EM_CONFIG: join(home, "config"),
  EM_CACHE: join(home, "cache"),
  EMSDK_PYTHON: join(prefix, "usr/bin/python3-private"), // so that the machine needs no Python; it must lie where its library is looked for
};

/** `{ root, version, env }` of the toolchain in .toolchain/, or null when it is not there, not complete, or was made for another place. */
export async function privateToolchain() {
  const stamp = await readFile(ready, "utf8")
    .then(JSON.parse)
    .catch(() => null);
  return stamp?.home === home ? { root: privateFolder, version: stamp.version, env: environment } : null;
}

/** Fetches, unpacks and checks. Safe to call again after an interruption, and from two processes at a time. */
export async function installFromDebian() {
  const architecture = (await capture("dpkg", ["--print-architecture"]).catch(() => "")).trim();
  const mirror = await debianMirror();
  if (!architecture || !mirror) throw new Error("this machine does not run Debian");
  if (!(architecture in architectures))
    throw new Error(`this script knows ${Object.keys(architectures)}, not ${architecture}`);

  await mkdir(home, { recursive: true });
  const release = await takeLock(join(home, "lock"));
  try {
    const present = await privateToolchain();
    if (present && isNewEnough(present.version)) return; // another process was faster
    await rm(ready, { force: true });
    await rm(prefix, { recursive: true, force: true });
    const archives = await download(mirror);
    console.error("unpacking it");
    await mkdir(prefix, { recursive: true });
    for (const archive of archives) await capture("dpkg-deb", ["-x", archive, prefix]);
    const libraries = join(prefix, "usr/lib", architectures[architecture].libraries);
    await usePrivateLibraries(libraries, join(libraries, architectures[architecture].loader));
    const emcc = await writeConfiguration();
    await capture(emcc, ["--version"]); // throws, with its words, when it does not run
    const version = await versionOf(emcc);
    if (!version || !isNewEnough(version)) throw new Error(`Debian ${suite} has only Emscripten ${version}`);
    await writeFile(`${ready}.new`, `${JSON.stringify({ home, version })}\n`);
    await rename(`${ready}.new`, ready); // whole or not at all
    await rm(join(home, "apt"), { recursive: true, force: true });
  } finally {
    await release();
  }
}

/** Downloads Emscripten and all that it needs with an apt state of its own, and returns the .deb files. What is there already is kept. */
async function download(mirror) {
  const apt = join(home, "apt");
  const archives = join(apt, "cache/archives");
  await mkdir(join(apt, "lists/partial"), { recursive: true });
  await mkdir(join(archives, "partial"), { recursive: true });
  await writeFile(join(apt, "status"), ""); // nothing counts as installed: every dependency is fetched
  await writeFile(join(apt, "sources.list"), `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`);
  await writeFile(
    join(apt, "apt.conf"),
    [
      `Dir::State "${apt}";`,
      `Dir::State::Lists "${apt}/lists";`,
      `Dir::State::status "${apt}/status";`,
      `Dir::Cache "${apt}/cache";`,
      `Dir::Etc::sourcelist "${apt}/sources.list";`,
      `Dir::Etc::sourceparts "/dev/null";`,
      `Dir::Etc::preferences "/dev/null";`,
      `Dir::Etc::preferencesparts "/dev/null";`,
      `APT::Install-Recommends "false";`,
      `APT::Sandbox::User "";`,
      `Acquire::Languages "none";`,
      `Acquire::Retries "3";`,
      `#clear APT::Update::Post-Invoke;`, // hooks of the machine's own package manager
      `#clear APT::Update::Post-Invoke-Success;`,
      "",
    ].join("\n"),
  );
  const options = ["-qq", "-c", join(apt, "apt.conf")];
  const toStderr = { stdio: ["ignore", 2, 2] }; // what this script prints is for the caller to read
  console.error(`downloading Emscripten from Debian ${suite} (about 170 MB)`);
  await run("apt-get", [...options, "update"], toStderr);
  await run("apt-get", [...options, "autoclean"], toStderr); // what an interrupted run left, where Debian has moved on since
  await run("apt-get", [...options, "install", "--yes", "--download-only", "emscripten", "patchelf"], toStderr);
  return (await readdir(archives)).filter((name) => name.endsWith(".deb")).map((name) => join(archives, name));
}

/** Makes the unpacked programs start with the unpacked C library and find every other library beside it. */
async function usePrivateLibraries(libraries, loader) {
  // patchelf itself is one of the unpacked programs: the unpacked loader runs it as it is.
  const patchelf = (...args) =>
    capture(loader, ["--library-path", libraries, join(prefix, "usr/bin/patchelf"), ...args]);
  const rpath = ["--force-rpath", "--set-rpath", libraries];
  const llvm = (await readdir(join(prefix, "usr/lib"))).filter((name) => name.startsWith("llvm-"));
  const binaryen = (await elfFiles(join(prefix, "usr/bin"))).filter((path) => basename(path).startsWith("wasm"));
  await patchelf("--set-interpreter", loader, ...rpath, ...binaryen);
  for (const name of llvm)
    await patchelf("--set-interpreter", loader, ...rpath, ...(await elfFiles(join(prefix, "usr/lib", name, "bin"))));
  for (const library of (await elfFiles(libraries)).filter((path) => /\.so(\.|$)/.test(path))) {
    // A library that has a search path of its own does not see the program's.
    const own = await patchelf("--print-rpath", library);
    if (own.trim()) await patchelf(...rpath, library);
  }
  // Python, linked to a fixed address, does not survive patchelf 0.18: the loader runs it instead.
  const python = join(prefix, "usr/bin/python3");
  await writeProgram(environment.EMSDK_PYTHON, [
    `exec ${quote(loader)} --library-path ${quote(libraries)} --argv0 "$0" ${quote(python)} "$@"`,
  ]);
}

/** The programs and libraries in a folder; links and scripts are left out. */
async function elfFiles(folder) {
  const found = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(folder, entry.name);
    const file = await open(path);
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    await file.close();
    if (buffer.toString("latin1") === "\x7fELF") found.push(path);
  }
  return found;
}

/** Writes Emscripten's configuration and the programs of .toolchain/bin; returns the path of emcc. */
async function writeConfiguration() {
  const emscripten = join(prefix, "usr/share/emscripten");
  const [llvm] = (await readdir(join(prefix, "usr/lib")))
    .filter((name) => /^llvm-\d+$/.test(name))
    .sort()
    .reverse();
  await writeFile(
    environment.EM_CONFIG,
    [
      "import shutil",
      `EMSCRIPTEN_ROOT = ${JSON.stringify(emscripten)}`,
      `LLVM_ROOT = ${JSON.stringify(join(prefix, "usr/lib", llvm, "bin"))}`,
      `BINARYEN_ROOT = ${JSON.stringify(join(prefix, "usr"))}`,
      `CACHE = ${JSON.stringify(environment.EM_CACHE)}`,
      `NODE_JS = shutil.which("node") or ${JSON.stringify(process.execPath)}`,
      "",
    ].join("\n"),
  );
  await mkdir(environment.EM_CACHE, { recursive: true });
  await symlink("../nodejs", join(emscripten, "node_modules")); // acorn, where an ES module of Emscripten's finds it
  await writeFile(join(emscripten, "package.json"), '{ "type": "commonjs" }\n'); // as if it did not lie below this project's package.json

  await rm(privateFolder, { recursive: true, force: true });
  await mkdir(privateFolder);
  const settings = Object.entries(environment).map(([name, value]) => `export ${name}=${quote(value)}`);
  for (const name of await readdir(emscripten)) {
    if (!/^em[a-z+-]*$/.test(name)) continue;
    await quoteOwnPath(join(emscripten, name));
    await writeProgram(join(privateFolder, name), [...settings, `exec ${quote(join(emscripten, name))} "$@"`]);
  }
  await symlink("../prefix/usr/share/emscripten/cmake", join(privateFolder, "cmake"));
  await rm(join(home, "emscripten"), { force: true });
  await symlink("prefix/usr/share/emscripten", join(home, "emscripten"));
  return join(privateFolder, "emcc");
}

/** Emscripten's launchers do not quote their own path, which may hold a space here. */
async function quoteOwnPath(launcher) {
  const text = await readFile(launcher, "utf8");
  await writeFile(
    launcher,
    text.replace("readlink -f $0", 'readlink -f "$0"').replace("$(dirname $0)", '"$(dirname "$0")"'),
  );
}

async function writeProgram(path, lines) {
  await writeFile(path, ["#!/bin/sh", ...lines, ""].join("\n"));
  await chmod(path, 0o755);
}

function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Waits until no other living process holds the lock file, takes it, and returns the function that gives it back. */
async function takeLock(path) {
  for (let waited = false; ; waited = true) {
    try {
      await writeFile(path, String(process.pid), { flag: "wx" });
      return () => rm(path, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = Number(await readFile(path, "utf8").catch(() => ""));
    if (holder && !isRunning(holder)) {
      await rm(path, { force: true });
      continue;
    }
    if (!waited)
      console.error(`process ${holder} is fetching Emscripten: waiting for it (if that is not so, delete ${path})`);
    await sleep(500);
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
