// `npm run site`: builds the site into build/site/: the Lab, the Doctor, models, and the guide with the API.
//
//   --serve [port]    serves it on localhost, under /ropewalk/, default port 8080; at once if no source has changed since it was built
//
// All addresses are relative, so the folder can be copied to any path of any host.
import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "./build.mjs";
import { capture, runMain } from "./run.mjs";
import { setUp } from "./setup.mjs";

const root = join(import.meta.dirname, "..");
export const siteFolder = join(root, "build", "site");

const built = join(root, "build", "site.built"); // its time says when the site was built

/** Builds the site. The package must be built. */
export async function buildSite() {
  await rm(built, { force: true });
  await rm(siteFolder, { recursive: true, force: true });
  const { build: buildPages } = await import("vite");
  await buildPages({ configFile: join(root, "web", "site", "vite.config.ts"), logLevel: "warn" });
  const { writeGuide } = await import("./site/guide.mjs");
  await writeGuide(join(siteFolder, "guide"));
  const { writeServiceWorker } = await import("./site/offline.mjs");
  await writeServiceWorker(siteFolder);
  await writeFile(built, "");
}

/** Whether the site is there, and no file but those of tests has changed since. */
export async function isUpToDate() {
  const timeOf = (path) => stat(join(root, path)).then(({ mtimeMs }) => mtimeMs);
  const since = await timeOf(join("build", "site.built")).catch(() => undefined);
  if (since === undefined) return false;
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listed = await capture("git", list, { cwd: root }).catch(() => undefined);
  if (listed === undefined) return false; // not a clone
  const sources = listed.split("\0").filter((path) => path !== "" && !path.startsWith("tests/"));
  // a file that is gone has changed
  const times = await Promise.all(sources.map((path) => timeOf(path).catch(() => Infinity)));
  return times.every((time) => time <= since);
}

await runMain(import.meta.url, async (args) => {
  await setUp(["build", "site"]);
  const serves = args.includes("--serve");
  if (!serves || !(await isUpToDate())) {
    await build();
    await buildSite();
  }
  console.log("build/site/index.html");
  if (!serves) return;
  const { ISOLATION, serveSite } = await import("./site/serve.mjs");
  const port = Number(args[args.indexOf("--serve") + 1] ?? 8080);
  const { address } = await serveSite(siteFolder, port, undefined, ISOLATION);
  console.log(`${address} (Ctrl-C to stop)`);
});
