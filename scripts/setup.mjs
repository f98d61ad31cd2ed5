// `npm run setup`: installs everything the build, the tests and the demo need. It says first what it will do.
//
//   npm run setup                     everything but python
//   npm run setup -- build browsers   what these groups need: build, native, browsers, lint, site, python (to install the reference packages)
//
// Debian packages need root. For another user it installs nothing and prints the command to run as root. The other scripts call `setUp`
// for what they need. This file imports nothing from node_modules, so that a fresh clone can run it.

import { findEmscripten } from "./emscripten.mjs";
import { runMain } from "./run.mjs";
import { findRelease, installRelease, placeRelease, version } from "./setup/emsdk.mjs";
import { findMirror, installFromDebian, megabytes, placeDebian, suite } from "./setup/emscripten_debian.mjs";
import { installPackages, missingPackages, requireInstaller } from "./setup/machine.mjs";
import { hasNodeModules, installNodeModules } from "./setup/node_modules.mjs";
import { minimumVersion, movedToolchain } from "./setup/toolchain.mjs";

/** Debian packages that each group needs. The build also needs Emscripten, and the others the npm packages of scripts/check/package.json. */
const packages = {
  build: ["cmake", "ninja-build"],
  native: [
    "g++",
    "clang",
    "libclang-rt-dev",
    "cmake",
    "ninja-build",
    "libgtest-dev",
    "libsimde-dev",
    "nlohmann-json3-dev",
  ],
  browsers: ["chromium", "firefox-esr", "webkit2gtk-driver", "libwebkit2gtk-4.1-0", "xvfb"],
  lint: ["clang-format"],
  site: [],
  python: ["python3", "python3-venv", "g++", "cmake", "ninja-build"],
};

/** The groups that only stages by name need. */
const byName = ["python"];

/** Installs node_modules and what the named groups lack. Returns false, without a word, if nothing is missing. */
export async function setUp(groups = Object.keys(packages).filter((group) => !byName.includes(group))) {
  const unknown = groups.filter((group) => !(group in packages));
  if (unknown.length > 0)
    throw new Error(`the groups are ${Object.keys(packages).join(", ")} (got ${unknown.join(", ")})`);

  const emscripten = groups.includes("build") && !findEmscripten() ? await chooseEmscripten() : undefined;
  const missing = missingPackages([...groups.flatMap((group) => packages[group]), ...(emscripten?.packages ?? [])]);
  const steps = [];
  if (missing.length > 0)
    steps.push({
      plan: `install with apt-get: ${missing.join(" ")}`,
      title: "installing Debian packages",
      run: () => installPackages(missing),
    });
  const npmPackages = groups.every((group) => group === "build") ? "build" : "all";
  if (!hasNodeModules(npmPackages))
    steps.push({
      plan: `install ${npmPackages === "all" ? "the npm packages" : "the build's npm packages"} of package-lock.json into node_modules/`,
      title: "installing npm packages",
      run: () => installNodeModules(npmPackages),
    });
  if (emscripten) steps.push(emscripten);
  if (steps.length === 0) return false;

  if (missing.length > 0) requireInstaller(missing);
  console.log(`Set-up will:\n${steps.map(({ plan }) => `  ${plan}\n`).join("")}`);
  for (const { title, run } of steps) {
    console.log(title);
    await run();
  }
  return true;
}

/** Where to get Emscripten from: emsdk's host if this machine reaches it, else its Debian mirror. */
async function chooseEmscripten() {
  const moved = movedToolchain();
  if (moved !== undefined)
    return {
      plan: `make Emscripten of ${moved} in .toolchain/ work in this folder`,
      title: "moving Emscripten",
      run: moved.startsWith("Debian") ? placeDebian : placeRelease,
    };
  const release = await findRelease();
  if (release)
    return {
      plan: `download Emscripten ${version} of emsdk (${release.megabytes} MB) into .toolchain/`,
      title: "downloading Emscripten",
      packages: process.platform === "linux" ? ["python3", "xz-utils"] : ["python3"],
      run: () => installRelease(release),
    };
  const mirror = findMirror();
  if (mirror)
    return {
      plan: `download Emscripten of Debian ${suite} (${megabytes} MB) into .toolchain/`,
      title: "downloading Emscripten",
      run: () => installFromDebian(mirror),
    };
  throw new Error(
    `Emscripten ${minimumVersion} or newer is missing, and neither emsdk's releases nor a Debian mirror can be reached.\n` +
      "Install emsdk, then put its emcc on PATH or set EMSDK to its folder.",
  );
}

await runMain(import.meta.url, async (groups) => {
  const done = await setUp(groups.length > 0 ? groups : undefined);
  console.log(done ? "Everything is set up." : "Everything is set up already.");
});
