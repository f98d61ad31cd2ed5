// `npm run site`: builds the site into build/site/: the Lab, the Doctor, models, and the guide with the API.
//
//   --serve [port]    serves it on localhost, under /ropewalk/, default port 8080
//
// All addresses are relative, so the folder can be copied to any path of any host.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { build } from "./build.mjs";
import { runMain } from "./run.mjs";
import { setUp } from "./setup.mjs";

const root = join(import.meta.dirname, "..");
export const siteFolder = join(root, "build", "site");

/** Builds the site. The package must be built. */
export async function buildSite() {
  await rm(siteFolder, { recursive: true, force: true });
  const { build: buildPages } = await import("vite");
  await buildPages({ configFile: join(root, "web", "site", "vite.config.ts"), logLevel: "warn" });
  const { writeGuide } = await import("./site/guide.mjs");
  await writeGuide(join(siteFolder, "guide"));
  const { writeServiceWorker } = await import("./site/offline.mjs");
  await writeServiceWorker(siteFolder);
}

await runMain(import.meta.url, async (args) => {
  await setUp(["build"]);
  await build();
  await buildSite();
  console.log("build/site/index.html");
  if (!args.includes("--serve")) return;
  const { serveSite } = await import("./site/serve.mjs");
  const { address } = await serveSite(siteFolder, Number(args[args.indexOf("--serve") + 1] ?? 8080));
  console.log(`${address} (Ctrl-C to stop)`);
});
