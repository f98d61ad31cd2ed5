// The newest releases that drift reads, in a cache outside the repository. The registries' own clients fetch them, so mirrors and proxies
// that these are configured for are used: npm, pip and cargo.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder } from "../setup/cache.mjs";
import { findProgram } from "../setup/machine.mjs";
import { capture } from "../setup/process.mjs";

/** What is read, by the name in the list. llama.cpp's newest source on a registry is in a crate. */
export const SOURCES = {
  transformers: { pypi: "transformers" },
  gguf: { pypi: "gguf" },
  "llama.cpp": { crate: "llama-cpp-sys-4", inner: "llama.cpp" },
  "mlx-lm": { pypi: "mlx-lm" },
  sglang: { pypi: "sglang" },
  jinja: { npm: "@huggingface/jinja" },
  "ai-sdk": { npm: "@ai-sdk/provider" },
};

/** Fetches the newest release of a source unless it is in the cache. Returns its { title, version, folder }. */
export function fetchSource(name) {
  const { pypi, npm, crate, inner } = SOURCES[name];
  const { version, folder } = pypi ? fromPypi(pypi) : npm ? fromNpm(npm) : fromCrates(crate);
  return { title: pypi ?? npm ?? `${name} (crate ${crate})`, version, folder: inner ? join(folder, inner) : folder };
}

const place = (name, version) => join(cacheFolder(), "drift", `${name.replace(/\W+/g, "_")}_${version}`);

/** Any recent Python, so that an old one on this machine doesn't lead to an old release. */
const TARGET = ["--only-binary=:all:", "--python-version=3.13", "--implementation=cp", "--abi=cp313", "--abi=none"];
const PLATFORMS = [17, 28, 34, 35].map((glibc) => `--platform=manylinux_2_${glibc}_x86_64`);

function fromPypi(name) {
  const python = process.env.ROPEWALK_PYTHON ?? findProgram("python3") ?? findProgram("python");
  if (python === undefined)
    throw new Error("Python is missing, whose pip fetches from PyPI: install it, or set ROPEWALK_PYTHON");
  const pip = (...args) => capture(python, ["-m", "pip", "--disable-pip-version-check", ...args]);
  const version = /\(([^)]+)\)/.exec(pip("index", "versions", name, ...TARGET, ...PLATFORMS))[1];
  const folder = once(place(name, version), (part) => {
    pip("download", "--quiet", "--no-deps", "--dest", part, ...TARGET, ...PLATFORMS, `${name}==${version}`);
    const [file] = readdirSync(part);
    capture(python, ["-m", "zipfile", "-e", join(part, file), part]);
    rmSync(join(part, file));
  });
  return { version, folder };
}

function fromNpm(name) {
  const version = JSON.parse(capture("npm", ["view", name, "version", "--json"]));
  const folder = once(place(name, version), (part) => {
    capture("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", part, `${name}@${version}`]);
    const [file] = readdirSync(part);
    capture("tar", ["-xzf", join(part, file), "-C", part]);
    rmSync(join(part, file));
  });
  return { version, folder: join(folder, "package") };
}

/** cargo keeps the crate's source in a folder of its own. */
function fromCrates(name) {
  const cargo = findProgram("cargo");
  if (cargo === undefined) throw new Error("cargo is missing, which fetches from crates.io: install Rust");
  const project = join(cacheFolder(), "drift", "crate");
  rmSync(project, { recursive: true, force: true });
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "src", "lib.rs"), "");
  writeFileSync(
    join(project, "Cargo.toml"),
    `[package]\nname = "drift"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n${name} = "*"\n`,
  );
  const manifest = join(project, "Cargo.toml");
  const { packages } = JSON.parse(capture(cargo, ["metadata", "--format-version=1", "--manifest-path", manifest]));
  const { version, manifest_path } = packages.find((one) => one.name === name);
  return { version, folder: dirname(manifest_path) };
}

/** Calls `fill` with a new folder, which gets its name when it is complete. */
function once(folder, fill) {
  if (existsSync(folder)) return folder;
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { recursive: true });
  fill(part);
  renameSync(part, folder);
  return folder;
}
