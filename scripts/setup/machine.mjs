// Finds out which programs and libraries are missing, by their Debian package names, and installs them with apt-get.

import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { capture, run } from "./process.mjs";

/** How to see that a package is installed: one of these programs or headers exists, or the function returns true. */
const evidence = {
  "g++": ["g++"],
  clang: ["clang++"],
  "libclang-rt-dev": hasSanitizers,
  cmake: ["cmake"],
  "ninja-build": ["ninja"],
  "clang-format": ["clang-format"],
  chromium: ["chromium", "chromium-browser", "google-chrome"],
  "firefox-esr": ["firefox-esr", "firefox"],
  "webkit2gtk-driver": ["WebKitWebDriver"],
  "libwebkit2gtk-4.1-0": () => findMiniBrowser() !== undefined,
  xvfb: ["Xvfb"],
  "libgtest-dev": ["gtest/gtest.h"],
  "libsimde-dev": ["simde/wasm/simd128.h"],
  "nlohmann-json3-dev": ["nlohmann/json.hpp"],
  python3: ["python3", "python"],
  "python3-venv": hasVirtualEnvironments,
  "xz-utils": ["xz"],
};

const headerFolders = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"];

/** The path of a program on PATH, or undefined. */
export function findProgram(name) {
  const endings = process.platform === "win32" ? [".exe", ".bat", ".cmd"] : [""];
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending))).find(existsSync);
}

/** Whether clang++ has its sanitizer libraries, which Debian packages apart. */
function hasSanitizers() {
  return existsSync(runtimeLibrary());
}

/** Whether clang++ has libFuzzer. Debian packages it with the sanitizers, Apple doesn't have it. */
export function hasFuzzer() {
  const folder = dirname(runtimeLibrary());
  return existsSync(folder) && readdirSync(folder).some((name) => name.startsWith("libclang_rt.fuzzer"));
}

/** Where clang++ looks for one of its runtime libraries; the others are next to it. */
function runtimeLibrary() {
  if (!findProgram("clang++")) return "";
  return capture("clang++", ["--rtlib=compiler-rt", "-print-libgcc-file-name"]).trim();
}

/** Whether Python has ensurepip, which Debian packages apart. */
function hasVirtualEnvironments() {
  const python = findProgram("python3") ?? findProgram("python");
  if (!python) return false;
  const code = "import importlib.util, sys; sys.stdout.write(str(bool(importlib.util.find_spec('ensurepip'))))";
  return capture(python, ["-c", code]) === "True";
}

/** The path of WebKitGTK's MiniBrowser, which is not on PATH, or undefined. */
export function findMiniBrowser() {
  const names = (folder) => (existsSync(folder) ? readdirSync(folder) : []);
  const versions = ["webkitgtk-6.0", "webkit2gtk-4.1"];
  const libraries = ["/usr/lib", ...names("/usr/lib").map((name) => join("/usr/lib", name)), "/usr/libexec"];
  return libraries
    .flatMap((folder) => versions.map((version) => join(folder, version, "MiniBrowser")))
    .find((path) => existsSync(path));
}

function isInstalled(name) {
  const signs = evidence[name];
  if (typeof signs === "function") return signs();
  return signs.some((sign) =>
    sign.endsWith(".h") || sign.endsWith(".hpp")
      ? headerFolders.some((folder) => existsSync(join(folder, sign)))
      : findProgram(sign),
  );
}

/** Returns the named packages that are missing. */
export function missingPackages(names) {
  return [...new Set(names)].filter((name) => !isInstalled(name));
}

const installOptions = ["--yes", "--no-install-recommends", "--no-upgrade"];

/** Throws an error that says how to install the packages if this process can't install them. */
export function requireInstaller(packages) {
  if (!findProgram("apt-get"))
    throw new Error(
      `these programs and libraries are missing (by their Debian names): ${packages.join(", ")}.\n` +
        "Install them with your system's package manager, then run this command again.",
    );
  if (process.getuid() !== 0)
    throw new Error(
      `these Debian packages are missing: ${packages.join(", ")}.\n` +
        "Only root can install them. Run this as root, then run your command again:\n\n" +
        `  apt-get update && apt-get install ${installOptions.join(" ")} ${packages.join(" ")}\n`,
    );
}

/** Installs Debian packages. Needs root. Upgrades nothing. */
export function installPackages(packages) {
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  run("apt-get", ["-qq", "update"], options);
  run("apt-get", ["-qq", "-o", "Dpkg::Use-Pty=0", "install", ...installOptions, ...packages], options);
}
