// What the scripts need to know of a Debian machine.

import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

async function read(path) {
  return readFile(path, "utf8").catch(() => "");
}

/** The fields of /etc/os-release: ID, VERSION_ID, VERSION_CODENAME … */
export async function osRelease() {
  const lines = (await read("/etc/os-release")).matchAll(/^(\w+)="?([^"\n]*)"?$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

/** The address of the Debian archive that this machine's own apt uses, or null when it is not Debian or names none. */
export async function debianMirror() {
  const { ID, VERSION_CODENAME } = await osRelease();
  if (ID !== "debian") return null;
  const suites = [VERSION_CODENAME, "stable", "testing", "unstable", "sid"];
  const sources = (await aptSources()).filter(
    ({ suite, components }) => suites.includes(suite) && components.includes("main"),
  );
  return sources[0]?.uri ?? null;
}

/** Every archive in the machine's apt sources, in both of their formats: `{ uri, suite, components }`. */
async function aptSources() {
  const folder = "/etc/apt/sources.list.d";
  const names = (await readdir(folder).catch(() => [])).sort();
  const found = parseOneLine(await read("/etc/apt/sources.list"));
  for (const name of names) {
    const text = await read(join(folder, name));
    if (name.endsWith(".list")) found.push(...parseOneLine(text));
    if (name.endsWith(".sources")) found.push(...parseDeb822(text));
  }
  return found;
}

/** Lines such as `deb [signed-by=…] URI suite component…` */
function parseOneLine(text) {
  return [...text.matchAll(/^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)[ \t]+([^#\n]+)/gm)].map(
    ([, uri, suite, components]) => ({ uri, suite, components: components.trim().split(/\s+/) }),
  );
}

/** Paragraphs of `Field: value`, where a value may go on in indented lines. */
function parseDeb822(text) {
  const paragraphs = text
    .replace(/^#.*\n/gm, "")
    .replace(/\n[ \t]+/g, " ")
    .split(/\n\s*\n/);
  return paragraphs.flatMap((paragraph) => {
    const values = (name) => new RegExp(`^${name}:(.*)$`, "mi").exec(paragraph)?.[1].trim().split(/\s+/) ?? [];
    if (!values("Types").includes("deb") || values("Enabled")[0]?.toLowerCase() === "no") return [];
    return values("URIs").flatMap((uri) =>
      values("Suites").map((suite) => ({ uri, suite, components: values("Components") })),
    );
  });
}
