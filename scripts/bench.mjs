// `npm run bench`: measures speed in Chromium and Node, and prints each result with its target.
//
//   npm run bench -- rope           only the kernels, attention and caches
//   npm run bench -- attention      only attention and caches
//   npm run bench -- rotation       only rotation in place
//   npm run bench -- models         only whole models, with llama.cpp if tests/bench/peers/build_llama_cpp.mjs has built it
//   npm run bench -- deep           a token over a long cache, beside native llama.cpp and its bound (not part of the others)
//   npm run bench -- embed          embeddings, compared with onnxruntime-web (not part of the others)
//   npm run bench -- page           beside other packages in one page, the table of README.md (not part of the others)
//   npm run bench -- lookup         prompt lookup, compared with plain generation (not part of the others)
//   npm run bench -- format         structured output, compared with free text (not part of the others)
//   npm run bench -- batches        several texts at once, compared with one (not part of the others)
//   npm run bench -- kept           opening a kept session, compared with reading it (not part of the others)
//   npm run bench -- loading        loading a model in Chromium and Node, compared with reading its bytes (not part of the others)
//   npm run bench -- visits         what the first and the second visit of a page take (not part of the others)
//   npm run bench -- scales         small weights, compared with larger ones (not part of the others)
//   npm run bench -- released       released models, beside llama.cpp and sentence-transformers (not part of the others)
//   npm run bench -- node           vectors in Node, beside packages with native add-ons (not part of the others)
//   npm run bench -- decisions      typed questions, beside answers that the model writes as JSON (not part of the others)
//   npm run bench -- products       products of many rows, beside a loop of nothing else (not part of the others)
//   npm run bench -- prompts        attention of long prompts, and their memory (not part of the others)
//   npm run bench -- variants       ways to rotate in place (not part of the others)
//   npm run bench -- --json FILE    writes the results to a file too
//   npm run bench -- --write        writes the tables of models, of released, of node or of decisions to their pages in docs/ too
//
// On request only:
//
//   npm run bench -- profile        where the time of a token and of a prompt goes
//   npm run bench -- ranges         how well a token would use more threads than this machine has
import { readFile, stat, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "./build.mjs";
import { runBuild } from "./progress.mjs";
import { relaxedFlags } from "./relaxed_flags.mjs";
import { capture, run, runMain } from "./run.mjs";
import { setUp } from "./setup.mjs";

const root = join(import.meta.dirname, "..");
const BUILDS = ["simd", "relaxed"];
/** Both builds of the benchmark's module. */
const benchLink = {
  preset: "wasm",
  folder: "wasm",
  options: [],
  targets: BUILDS.map((name) => `ropewalk_bench_${name}`),
};

/** A page doesn't answer while it measures. */
const HOUR_MS = 3_600_000;

/** Builds targets in a folder of build/. */
async function link({ preset, folder, options, targets }) {
  await capture("cmake", ["--preset", preset, "-B", join("build", folder), ...options], { cwd: root });
  await runBuild(folder, "cmake", ["--build", join("build", folder), "--target", ...targets], { cwd: root });
}

/** Node's options for a build. */
const flagsOf = async (name) => (name === "relaxed" ? relaxedFlags() : []);

/** Runs a benchmark of tests/bench/ in a Node of its own. Returns its results. */
async function inNode(script, name, ...args) {
  const command = [...(await flagsOf(name)), join("tests", "bench", script), name, ...args];
  return JSON.parse(await capture(process.execPath, command, { cwd: root }));
}

/** Opens a page of the benchmark in Chromium and calls `use` with it. */
async function inPage(name, use) {
  const { withBrowser, open } = await import("../tests/browser/browsers.mjs");
  const { serve } = await import("../tests/browser/server.mjs");
  const csp = "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src 'self' blob:"; // inline: the import map
  const server = await serve({ "/": { folder: root, csp, isIsolated: true } });
  try {
    let lines;
    await withBrowser(
      "chromium",
      async (browser) => {
        const { page } = await open(browser, `${server.origin}/tests/bench/${name}`);
        page.setDefaultTimeout(0);
        await page.waitForFunction(() => globalThis.isReady);
        lines = await use(page, server.origin);
      },
      { timeoutMs: HOUR_MS },
    );
    return lines;
  } finally {
    await server.close();
  }
}

/** Cases of tests/bench/ that need only the benchmark's module. */
const CASES = {
  attention: "./attention_cases.mjs",
  rotation: "./rotation_cases.mjs",
  variants: "./variant_cases.mjs",
  products: "./products/product_cases.mjs",
  prompts: "./prompt_cases.mjs",
};

/** Runs them in Chromium or Node. */
async function casesIn(place, cases, name) {
  if (place === "node") return inNode("cases_node.mjs", name, cases);
  return inPage("index.html", (page) => page.evaluate((...args) => globalThis.runCasesOf(...args), cases, name));
}

async function inChromium(name) {
  const { oneNodeModel } = await import("../examples/onnx_model.mjs");
  const { ROTARY_NODE } = await import("../tests/bench/peer.mjs");
  return inPage("index.html", (page) =>
    page.evaluate((...args) => globalThis.runBenchmark(...args), name, [...oneNodeModel(ROTARY_NODE)]),
  );
}

/** Sizes of what a page downloads. The tests keep them below limits (packed.test.mjs and size.test.mjs). */
async function sizes() {
  const { scriptsOf } = await import("../tests/package/load/page_scripts.mjs");
  const { startupBytes } = await import("../tests/unit/startup_size.mjs");
  const scripts = await Promise.all(scriptsOf(root, "dist/index.js").map((name) => readFile(join(root, name))));
  const sizeOf = async (name) => (await stat(join(root, "dist", name))).size;
  const app = await startupBytes('export { load } from "./dist/index.js";');
  const line = (name, bytes) => ({ name, value: bytes / 1024, unit: "KB" });
  const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
  return [
    line("ropewalk.wasm", await sizeOf("wasm/ropewalk.wasm")),
    line("ropewalk.relaxed.wasm", await sizeOf("wasm/ropewalk.relaxed.wasm")),
    line("scripts of a page without a bundler", sum(scripts.map(({ length }) => length))),
    line("the same with gzip", sum(scripts.map((code) => gzipSync(code).length))),
    line("an app that calls load(), bundled and minified", app + (await sizeOf("wasm/ropewalk.js"))),
  ];
}

const isMet = ({ value, target, better }) => (better === "less" ? value <= target : value >= target);

function print(title, lines) {
  console.log(`\n${title}`);
  for (const line of lines) {
    const value = line.value >= 100 ? line.value.toFixed(0) : line.value.toFixed(2);
    const verdict =
      line.target === undefined
        ? ""
        : `${line.better === "less" ? "≤" : "≥"} ${line.target}  ${isMet(line) ? "met" : "NOT MET"}`;
    console.log(`  ${line.name.padEnd(76)} ${value.padStart(8)} ${line.unit.padEnd(9)} ${verdict}`);
  }
}

/** Runs a program of tests/bench/profile/ that prints what it measured, after building what it `needs`. */
async function runProfile(part, args) {
  const program = join(root, "tests", "bench", "profile", `${part}.mjs`);
  const { needs } = await import(pathToFileURL(program));
  for (const needed of needs) await link(needed);
  await run(process.execPath, [...(await flagsOf("relaxed")), program, ...args]);
}

/** Runs a program of tests/bench/ that prints `{ lines, table }`, in a Node of its own. With --write, the table goes to `page`, at the mark `name`. */
async function benchTable(name, program, page, args) {
  const { writeBetween } = await import("../tests/bench/models/report.mjs");
  const printed = await capture(process.execPath, program, { cwd: root });
  const { lines, table } = JSON.parse(printed.split("\n").at(-1));
  const date = new Date().toLocaleDateString("en", { year: "numeric", month: "long", day: "numeric" });
  const text = `On ${cpus()[0]?.model.trim() ?? "an unknown processor"}, Node ${process.version}, ${date}:\n\n${table}`;
  console.log(`\n${text}`);
  if (args.includes("--write")) await writeBetween(join(root, "docs", page), name, text);
  return lines;
}

/** Measures released models. */
const benchReleased = async (args) =>
  benchTable("released", [...(await flagsOf("relaxed")), "tests/bench/released/released.mjs"], "whole_models.md", args);

/** Measures packages as Node runs them without a flag. */
const benchPackages = (args) =>
  benchTable(
    "packages",
    ["tests/bench/node_packages/packages.mjs", ...args],
    "apps/node_without_native_builds.md",
    args,
  );

/** Measures decisions of a released model. */
const benchDecisions = async (args) =>
  benchTable(
    "decisions",
    [...(await flagsOf("relaxed")), "tests/bench/decisions/decisions.mjs"],
    "apps/decisions.md",
    args,
  );

async function bench(args) {
  const [part] = ["profile", "ranges"].filter((name) => args.includes(name));
  const names = [
    "rope",
    "models",
    "deep",
    "released",
    "embed",
    "page",
    "lookup",
    "format",
    "batches",
    "kept",
    "loading",
    "visits",
    "scales",
    "node",
    "decisions",
    ...Object.keys(CASES),
  ];
  const parts = names.filter((part) => args.includes(part));
  const wants = (part) => (parts.length === 0 ? ["rope", "models"].includes(part) : parts.includes(part));
  await setUp(["build", "browsers", ...(wants("released") ? ["python"] : [])]);
  await build();
  if (part !== undefined) return runProfile(part, args.slice(args.indexOf(part) + 1));
  if (["rope", "models", "deep", ...Object.keys(CASES)].some(wants)) await link(benchLink);
  const results = { cpu: cpus()[0]?.model, package: await sizes() };
  print("the package", results.package);
  const measure = async (title, lines) => print(title, (results[title] = await lines));
  for (const name of BUILDS) {
    if (wants("rope")) {
      await measure(`Chromium, ${name} build`, inChromium(name));
      await measure(`Node ${process.version}, ${name} build`, inNode("node.mjs", name));
    }
    for (const [part, cases] of Object.entries(CASES).filter(([part]) => wants(part))) {
      await measure(`${part} in Chromium, ${name} build`, casesIn("chromium", cases, name));
      await measure(`${part} in Node ${process.version}, ${name} build`, casesIn("node", cases, name));
    }
  }
  if (wants("models")) {
    const { benchModels } = await import("../tests/bench/models/bench_models.mjs");
    const { lines, files } = await benchModels(inPage, args);
    await measure("models in Chromium", lines);
    results.models = files;
  }
  if (wants("deep")) {
    const { benchDeep } = await import("../tests/bench/models/deep.mjs");
    await measure("a token over a long cache, in Chromium", benchDeep(inPage, args));
  }
  if (wants("released")) await measure("released models in Node", benchReleased(args));
  if (wants("node")) await measure("vectors in Node, one package beside others", benchPackages(args));
  if (wants("decisions")) await measure("typed questions in Node", benchDecisions(args));
  if (wants("embed")) {
    const { benchEmbed } = await import("../tests/bench/embed/bench_embed.mjs");
    await measure("embeddings in Chromium", benchEmbed(inPage, args));
  }
  if (wants("page")) {
    const { benchPage } = await import("../tests/bench/page/bench_page.mjs");
    await measure("beside other packages in Chromium", benchPage(inPage, args));
  }
  if (wants("visits")) {
    const { benchVisits } = await import("../tests/bench/visits/visits.mjs");
    await measure("visits of a page in Chromium", benchVisits());
  }
  if (wants("loading")) {
    const { benchLoadingInBrowser } = await import("../tests/bench/loading/in_browser.mjs");
    for (const name of BUILDS)
      await measure(`loading a model in Chromium, ${name} build`, benchLoadingInBrowser(inPage, name));
  }
  for (const [part, title] of Object.entries({
    lookup: "prompt lookup",
    format: "structured output",
    batches: "several texts at once",
    kept: "kept sessions",
    loading: "loading a model",
    scales: "small weights",
  })) {
    if (!wants(part)) continue;
    for (const name of BUILDS) {
      const command = [...(await flagsOf(name)), join("tests", "bench", part, `${part}.mjs`), name];
      const printed = await capture(process.execPath, command, { cwd: root });
      await measure(`${title} in Node, ${name} build`, JSON.parse(printed));
    }
  }
  const missed = Object.values(results)
    .flat()
    .filter((line) => line?.target !== undefined && !isMet(line));
  console.log(`\n${missed.length === 0 ? "all targets are met" : `targets not met: ${missed.length}`}`);
  const file = args[args.indexOf("--json") + 1];
  if (args.includes("--json")) await writeFile(file ?? "bench.json", `${JSON.stringify(results, null, 2)}\n`);
}

await runMain(import.meta.url, bench);
