// Makes sure that the machine has what the native build and the browser tests need.
//
//   node scripts/machine.mjs native     compilers, CMake, Ninja, GoogleTest, SIMDe, sanitizers, clang-format …
//   node scripts/machine.mjs browsers   Chromium and Firefox
//   node scripts/machine.mjs all        both
//
// On Debian and its relatives, run by root, what is missing is installed with apt-get; nothing that is there is upgraded. Elsewhere an
// error names what to install.

import { existsSync, readdirSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run, runMain } from "./run.mjs";

/** A package is there when one of these is: a program on PATH, a file (by its path), or what a function finds. */
const evidence = {
  "g++": ["g++"],
  clang: ["clang++"],
  cmake: ["cmake"],
  "ninja-build": ["ninja"],
  "clang-format": ["clang-format"],
  chromium: ["chromium", "chromium-browser", "google-chrome"],
  "firefox-esr": ["firefox-esr", "firefox"],
  "libgtest-dev": headers("gtest/gtest.h"),
  "libsimde-dev": headers("simde/wasm/simd128.h"),
  "nlohmann-json3-dev": headers("nlohmann/json.hpp"),
};

const native = [
  "g++",
  "clang",
  "cmake",
  "ninja-build",
  "clang-format",
  "libgtest-dev",
  "libsimde-dev",
  "nlohmann-json3-dev",
];
const browsers = ["chromium", "firefox-esr"];

function headers(name) {
  return ["/usr/include", "/usr/local/include", "/opt/homebrew/include"].map((folder) => join(folder, name));
}

/** The path of a program on PATH, or null. */
export function findProgram(name) {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

function isThere(name) {
  const runtime = /^libclang-rt-(\d+)-dev$/.exec(name);
  if (runtime) return hasSanitizers(runtime[1]);
  const signs = evidence[name] ?? [name];
  return signs.some((sign) => (sign.startsWith("/") ? existsSync(sign) : findProgram(sign)));
}

/** The major version of the clang++ on PATH where it is one of Debian's (/usr/lib/llvm-14/bin/clang); other clangs bring their runtime. */
function debianClangVersion() {
  const clang = findProgram("clang++");
  return clang ? (/\/llvm-(\d+)\//.exec(realpathSync(clang))?.[1] ?? null) : null;
}

/** Whether clang's sanitizer libraries are beside it: /usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.asan-x86_64.a */
function hasSanitizers(version) {
  const folder = `/usr/lib/llvm-${version}/lib/clang`;
  if (!existsSync(folder)) return false;
  return readdirSync(folder).some((name) => {
    const libraries = join(folder, name, "lib/linux");
    return existsSync(libraries) && readdirSync(libraries).some((file) => file.startsWith("libclang_rt.asan"));
  });
}

/** Installs those of the named Debian packages that are missing, or throws an error that names them. */
export async function ensurePackages(names) {
  const missing = names.filter((name) => !isThere(name));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !findProgram("apt-get")) {
    const advice = findProgram("apt-get")
      ? `run as root: apt-get install ${missing.join(" ")}`
      : `install what Debian calls ${missing.join(", ")}`;
    throw new Error(`missing on this machine: ${missing.join(", ")}; ${advice}`);
  }
  console.error(`installing ${missing.join(", ")}`);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  const install = () =>
    run(
      "apt-get",
      ["-qq", "install", "--yes", "--no-install-recommends", "--no-upgrade", "-o", "Dpkg::Use-Pty=0", ...missing],
      options,
    );
  try {
    await install();
  } catch {
    await run("apt-get", ["-qq", "update"], options); // the lists may be absent or old
    await install();
  }
}

/** What the native build and its tests need. */
export async function ensureNative() {
  await ensurePackages(native);
  const version = debianClangVersion();
  if (version) await ensurePackages([`libclang-rt-${version}-dev`]);
}

/** The browsers of the browser tests. */
export async function ensureBrowsers() {
  await ensurePackages(browsers);
}

runMain(import.meta.url, async ([what = "all"]) => {
  const tasks = { native: [ensureNative], browsers: [ensureBrowsers], all: [ensureNative, ensureBrowsers] }[what];
  if (!tasks) throw new Error(`"${what}" is not one of: native, browsers, all`);
  for (const task of tasks) await task();
});
