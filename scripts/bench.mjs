// `npm run bench`: measures in Chromium and in Node, and prints each line with what it is to reach. `--json FILE` writes the figures.
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { build } from "./build.mjs";
import { ensureBrowsers } from "./machine.mjs";
import { capture, run, runMain } from "./run.mjs";

const root = join(import.meta.dirname, "..");
const links = {
  simd: { preset: "wasm", folder: "bench" },
  relaxed: { preset: "wasm-relaxed", folder: "bench-relaxed" },
};

/** A page that measures does not answer meanwhile. */
const HOUR_MS = 3_600_000;

async function linkBenchmark({ preset, folder }) {
  await capture("cmake", ["--preset", preset, "-B", join("build", folder), "-DROPEWALK_BENCHMARK=ON"], { cwd: root });
  await run("cmake", ["--build", join("build", folder), "--target", "ropewalk_bench"], { cwd: root });
}

async function inNode(name) {
  const flags = name === "relaxed" ? ["--experimental-wasm-relaxed-simd", "--no-liftoff"] : [];
  return JSON.parse(
    await capture(process.execPath, [...flags, join("tests", "bench", "node.mjs"), name, links[name].folder], {
      cwd: root,
    }),
  );
}

/** Opens the benchmark's page in Chromium, with more folders served beside the repository, and uses it. */
async function inPage(use, folders = {}) {
  const { withBrowser, open } = await import("../tests/browser/browsers.mjs");
  const { serve } = await import("../tests/browser/server.mjs");
  const csp = "script-src 'self' 'unsafe-eval' blob:; worker-src blob:";
  const server = await serve({ "/": { folder: root, csp }, ...folders });
  try {
    let lines;
    await withBrowser(
      "chromium",
      async (browser) => {
        const { page } = await open(browser, `${server.origin}/tests/bench/index.html`);
        page.setDefaultTimeout(0);
        await page.waitForFunction(() => globalThis.runBenchmark !== undefined);
        lines = await use(page, server.origin);
      },
      { patienceMs: HOUR_MS },
    );
    return lines;
  } finally {
    await server.close();
  }
}

async function inChromium(name) {
  const { oneNodeModel } = await import("../examples/onnx_model.mjs");
  const { ROTARY_NODE } = await import("../tests/bench/peer.mjs");
  return inPage((page) =>
    page.evaluate((...args) => globalThis.runBenchmark(...args), name, links[name].folder, [
      ...oneNodeModel(ROTARY_NODE),
    ]),
  );
}

/** Models of random weights, made in build/models/ unless they are there. */
async function modelFile(shape, format) {
  const { writeRandomModel } = await import("../tests/bench/random_model.mjs");
  const folder = join(root, "build", "models");
  const name = `${shape}.${format}.gguf`;
  await mkdir(folder, { recursive: true });
  if (!(await stat(join(folder, name)).catch(() => undefined)))
    await writeRandomModel(join(folder, name), shape, format);
  return { path: join(folder, name), address: `/build/models/${name}` };
}

/** wllama runs once for each file, before the simd build, in the same page. */
async function modelsIn(place, name) {
  const lines = [];
  for (const shape of ["smollm2-135m", "qwen2.5-0.5b"]) {
    for (const format of ["q8_0", "q4_0", "q4_k"]) {
      const { path, address } = await modelFile(shape, format);
      const args = [name, links[name].folder];
      if (place === "node") {
        const flags = name === "relaxed" ? ["--experimental-wasm-relaxed-simd", "--no-liftoff"] : [];
        lines.push(
          ...JSON.parse(
            await capture(
              process.execPath,
              [...flags, join("tests", "bench", "model_node.mjs"), ...args, path, shape, format],
              { cwd: root },
            ),
          ),
        );
      } else {
        lines.push(
          ...(await inPage((page, origin) =>
            page.evaluate(
              (...all) => globalThis.runModelBenchmark(...all),
              ...args,
              origin + address,
              shape,
              format,
              name === "simd",
            ),
          )),
        );
      }
    }
  }
  return lines;
}

// What a page that gives its own config fetches of the package: the main entry, what it shares, the glue, and one wasm.
async function sizes() {
  const dist = (name) => join(root, "dist", name);
  const entry = await readFile(dist("index.js"), "utf8");
  const shared = [...entry.matchAll(/"\.\/(shared-\w+\.js)"/g)].map(([, name]) => name);
  const bytes = async (names) =>
    (await Promise.all(names.map((name) => stat(dist(name))))).reduce((sum, { size }) => sum + size, 0) / 1024;
  const { build: bundle } = await import("esbuild");
  const { outputFiles } = await bundle({
    stdin: { contents: 'export { load } from "./dist/index.js";', resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    external: ["./wasm/*"],
  });
  const loadAlone = outputFiles[0].contents.length / 1024 + (await bytes(["wasm/ropewalk.js"]));
  return [
    {
      name: "size: ropewalk.wasm",
      value: await bytes(["wasm/ropewalk.wasm"]),
      unit: "KB",
      target: 150,
      better: "less",
    },
    {
      name: "size: ropewalk.relaxed.wasm",
      value: await bytes(["wasm/ropewalk.relaxed.wasm"]),
      unit: "KB",
      target: 150,
      better: "less",
    },
    {
      name: "size: JavaScript of the main entry, glue included",
      value: await bytes(["index.js", ...shared, "wasm/ropewalk.js"]),
      unit: "KB",
      target: 60,
      better: "less",
    },
    {
      name: "size: the same without what reads model files (an app that imports load alone)",
      value: loadAlone,
      unit: "KB",
    },
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

/** `npm run bench -- rope` and `-- models` measure a half. */
async function bench(args) {
  const halves = ["rope", "models"].filter((half) => args.includes(half));
  const wants = (half) => halves.length === 0 || halves.includes(half);
  await ensureBrowsers();
  await build();
  for (const link of Object.values(links)) await linkBenchmark(link);
  const results = { cpu: cpus()[0]?.model, package: await sizes() };
  print("the package", results.package);
  const measure = async (title, lines) => print(title, (results[title] = await lines));
  for (const name of Object.keys(links)) {
    if (wants("rope")) {
      await measure(`Chromium, ${name} build`, inChromium(name));
      await measure(`Node ${process.version}, ${name} build`, inNode(name));
    }
    if (wants("models")) {
      await measure(`models in Chromium, ${name} build`, modelsIn("chromium", name));
      await measure(`models in Node ${process.version}, ${name} build`, modelsIn("node", name));
    }
  }
  const missed = Object.values(results)
    .flat()
    .filter((line) => line?.target !== undefined && !isMet(line));
  console.log(`\n${missed.length === 0 ? "every line is met" : `${missed.length} lines are not met`}`);
  const file = args[args.indexOf("--json") + 1];
  if (args.includes("--json")) await writeFile(file ?? "bench.json", `${JSON.stringify(results, null, 2)}\n`);
}

await runMain(import.meta.url, bench);
