// Unpacks Emscripten from Debian's testing release into .toolchain/, without root: for machines that reach only their Debian mirror.
//
// Debian 12 has only Emscripten 3.1.6, and the newer one needs a newer C library. So a private apt downloads Emscripten and all its
// dependencies, dpkg-deb unpacks them, and patchelf makes the programs use the libraries next to them.
//
// apt verifies the packages: the archive's signature covers the checksum of each. Their versions aren't pinned, because testing keeps only
// the newest. The wasm files record which compiler built them (bindings/compiler.cpp).

import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { findProgram } from "./machine.mjs";
import { capture, run } from "./process.mjs";
import { finishToolchain, home, removeToolchain } from "./toolchain.mjs";

export const suite = "forky";
/** Size of the download. */
export const megabytes = 170;

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
const prefix = join(home, "debian");
const libraries = join(prefix, "usr/lib/x86_64-linux-gnu");
const loader = join(libraries, "ld-linux-x86-64.so.2");
const emscripten = join(prefix, "usr/share/emscripten");

/** The Debian mirror that this machine's apt uses, or undefined if this isn't Debian on x86-64. Others weren't tried. */
export function findMirror() {
  if (!findProgram("apt-get") || capture("dpkg", ["--print-architecture"]).trim() !== "amd64") return undefined;
  const listed = capture("apt-get", [
    "indextargets",
    "--format",
    "$(REPO_URI) $(RELEASE) $(COMPONENT)",
    "Created-By: Packages",
  ]);
  const { ID, VERSION_CODENAME } = osRelease();
  if (ID !== "debian") return undefined;
  const targets = listed.split("\n").map((line) => line.split(" "));
  const releases = [VERSION_CODENAME, "stable", "testing", "unstable", "sid"];
  return targets.find(([, release, component]) => releases.includes(release) && component === "main")?.[0];
}

function osRelease() {
  const fields = readFileSync("/etc/os-release", "utf8").matchAll(/^(\w+)="?([^"\n]*)"?$/gm);
  return Object.fromEntries([...fields].map(([, name, value]) => [name, value]));
}

/** Downloads and unpacks Emscripten, and makes it the toolchain. */
export function installFromDebian(mirror) {
  removeToolchain();
  mkdirSync(prefix, { recursive: true });
  for (const archive of download(mirror)) run("dpkg-deb", ["-x", archive, prefix]);
  rmSync(join(home, "apt"), { recursive: true });
  symlinkSync("../nodejs", join(emscripten, "node_modules")); // acorn, where Emscripten's ES modules look for it
  placeDebian();
}

/** Makes the unpacked toolchain work in the folder where it is now. */
export function placeDebian() {
  usePrivateLibraries();
  usePrivatePython();
  const [llvm] = readdirSync(join(prefix, "usr/lib"))
    .filter((name) => /^llvm-\d+$/.test(name))
    .sort()
    .reverse();
  finishToolchain({
    emscripten,
    llvm: join(prefix, "usr/lib", llvm, "bin"),
    binaryen: join(prefix, "usr"),
    source: `Debian ${suite}`,
  });
}

/** Downloads Emscripten and all its dependencies with an apt that shares no state with the machine's. Returns the .deb files. */
function download(mirror) {
  const apt = join(home, "apt");
  const archives = join(apt, "cache/archives");
  mkdirSync(join(apt, "lists/partial"), { recursive: true });
  mkdirSync(join(archives, "partial"), { recursive: true });
  writeFileSync(join(apt, "status"), ""); // nothing counts as installed, so every dependency is downloaded
  writeFileSync(join(apt, "sources.list"), `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`);
  writeFileSync(
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
      `#clear APT::Update::Post-Invoke;`, // the machine's own hooks
      `#clear APT::Update::Post-Invoke-Success;`,
      "",
    ].join("\n"),
  );
  const options = ["-qq", "-c", join(apt, "apt.conf")];
  run("apt-get", [...options, "update"]);
  run("apt-get", [...options, "install", "--yes", "--download-only", "emscripten", "patchelf"]);
  return readdirSync(archives)
    .filter((name) => name.endsWith(".deb"))
    .map((name) => join(archives, name));
}

/** Makes the unpacked programs start with the unpacked C library and find their other libraries next to it. */
function usePrivateLibraries() {
  // patchelf is one of the unpacked programs, so the unpacked loader starts it
  const patchelf = (...args) =>
    capture(loader, ["--library-path", libraries, join(prefix, "usr/bin/patchelf"), ...args]);
  const rpath = ["--force-rpath", "--set-rpath", libraries];
  const binaryen = elfFiles(join(prefix, "usr/bin")).filter((path) => basename(path).startsWith("wasm"));
  const llvm = readdirSync(join(prefix, "usr/lib"))
    .filter((name) => name.startsWith("llvm-"))
    .flatMap((name) => elfFiles(join(prefix, "usr/lib", name, "bin")));
  patchelf("--set-interpreter", loader, ...rpath, ...binaryen, ...llvm);
  for (const library of elfFiles(libraries).filter((path) => /\.so(\.|$)/.test(path))) {
    // a library with a search path of its own ignores the program's
    if (patchelf("--print-rpath", library).trim()) patchelf(...rpath, library);
  }
}

/** Makes emcc and its siblings start the unpacked Python, so that the machine needs none. */
function usePrivatePython() {
  // Python has a fixed address and breaks under patchelf 0.18, so the loader starts it. It must be in usr/bin to find its library.
  const python = join(prefix, "usr/bin/python3-private");
  const command = [loader, "--library-path", libraries, "--argv0", python, join(prefix, "usr/bin/python3")];
  writeFileSync(python, `#!/bin/sh\nexec ${command.map(quote).join(" ")} "$@"\n`, { mode: 0o755 });
  for (const name of readdirSync(emscripten).filter((name) => /^em[a-z+-]*$/.test(name))) {
    const launcher = join(emscripten, name);
    const text = readFileSync(launcher, "utf8");
    const own = text.replace(/\nexport EMSDK_PYTHON=.*/, ""); // of the folder where it was before
    writeFileSync(launcher, own.replace("\n", `\nexport EMSDK_PYTHON=${quote(python)}\n`));
  }
}

function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The programs and libraries in a folder, without links and scripts. */
function elfFiles(folder) {
  const isElf = (path) => {
    const start = Buffer.alloc(4);
    const file = openSync(path);
    readSync(file, start, 0, 4, 0);
    closeSync(file);
    return start.toString("latin1") === "\x7fELF";
  };
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ name }) => join(folder, name)).filter(isElf);
}
