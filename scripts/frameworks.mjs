// Prints docs/apps/frameworks.md from the results of the last `npm test -- frameworks`.
//
//   node scripts/frameworks.mjs > docs/apps/frameworks.md
import { results } from "../tests/frameworks/results.mjs";
import { runMain } from "./run.mjs";

const HEAD = `# Frameworks and bundlers

Each row is an app that \`npm test -- frameworks\` makes, with a release from npm. It rotates a vector with the main
entry and generates a text with a model in \`ropewalk/worker\`, in Chromium or in its runtime. Next, Nuxt, SvelteKit and
Astro also do both on their servers. Cloudflare Workers can't start a Worker, so the main entry does both there. Every week
a workflow runs all of them. [Load the package](../loading.md#bundlers) explains the settings. Rollup, and esbuild for
pages, are tested by \`npm test -- browser\`. \`bun build --target=browser\`, which is Bun's default, isn't tested: it doesn't copy
the wasm files.

| framework | version | development | production | what to set | tested |
|---|---|---|---|---|---|
`;

const row = ({ name, version, dev, production, setting, tested }) =>
  `| ${[name, version || process.versions.node, dev ?? "no such mode", production ?? "no such mode", setting || "nothing", tested].join(" | ")} |`;

const errors = (list) =>
  list.length === 0
    ? ""
    : `\nWithout the setting, an app shows:\n\n${list.map(({ name, error }) => `- ${name}: \`${error}\``).join("\n")}\n`;

/** The whole page. */
async function page() {
  const list = [...(await results()).values()].sort((one, other) => one.name.localeCompare(other.name));
  return `${HEAD}${list.map(row).join("\n")}\n${errors(list.filter(({ error }) => error !== ""))}`;
}

await runMain(import.meta.url, async () => process.stdout.write(await page()));
