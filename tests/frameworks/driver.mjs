// Makes an app in a folder outside the checkout, installs its framework from npm, runs it in development and in production, and compares what
// it shows. A row describes an app; apps/ has its sources.
import assert from "node:assert/strict";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { withBrowser } from "../browser/browsers.mjs";
import { WORKED_EXAMPLE } from "../browser/pages/worked_example.mjs";
import { serve } from "../browser/server.mjs";
import { installPackage, makeFolder, removeFolder, root } from "../browser/tarball.mjs";
import { capture } from "../../scripts/run.mjs";
import { record } from "./results.mjs";

const MODEL = join(root, "tests", "golden", "tiny_models", "llama", "model.gguf");
const PATIENCE_MS = 60_000;

/** An app may show anything in a policy of its own; what the package needs is tested in tests/browser. */
const ANY_POLICY = "object-src 'none'";

/** What every app shows: with the simd build, a seed gives the same text everywhere. */
async function expected() {
  const { load } = await import(pathToFileURL(join(root, "dist", "index.node.js")).href);
  const model = await (await load({ build: "simd" })).model(MODEL);
  let text = "";
  for await (const piece of model.generate("the cat", { maxTokens: 20, seed: 7, ignoreEnd: true })) text += piece.text;
  model.dispose();
  return { rotated: WORKED_EXAMPLE.join(" "), text };
}

/** An app in a folder: runs its programs. */
class App {
  constructor(folder) {
    this.folder = folder;
    const bin = join(folder, "node_modules", ".bin");
    this.env = {
      ...process.env,
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      ROPEWALK_MODEL: MODEL,
      CI: "1", // no questions
      NEXT_TELEMETRY_DISABLED: "1",
      NUXT_TELEMETRY_DISABLED: "1",
      ASTRO_TELEMETRY_DISABLED: "1",
      NG_CLI_ANALYTICS: "false",
    };
    delete this.env.NODE_TEST_CONTEXT; // test runners in an app would report to ours
  }

  /** Runs a program to its end and returns its output. */
  run([command, ...args], env = {}) {
    return capture(command, args, { cwd: this.folder, env: { ...this.env, ...env }, extendEnv: false });
  }

  /** Calls `use` with the address of a server while it runs. */
  async withServer(commandOn, env, use) {
    const port = await freePort();
    const [command, ...args] = commandOn(port);
    const options = {
      cwd: this.folder,
      env: { ...this.env, PORT: String(port), HOST: "localhost", ...env },
      detached: true,
    };
    const server = spawn(command, args, options);
    let output = "";
    for (const stream of [server.stdout, server.stderr]) stream.on("data", (data) => (output += data));
    const ended = new Promise((resolve) => server.on("exit", resolve).on("error", resolve));
    try {
      await until(() => answers(`http://localhost:${port}/`), ended);
      return await use(`http://localhost:${port}`);
    } catch (error) {
      error.message += `\n${output.slice(-2000)}`;
      throw error;
    } finally {
      try {
        process.kill(-server.pid);
      } catch {
        // it has ended
      }
      await ended;
    }
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const answers = (address) =>
  fetch(address).then(
    () => true,
    () => false,
  );

async function until(condition, ended) {
  let isOver = false;
  void ended.then(() => (isOver = true));
  for (const start = performance.now(); performance.now() - start < PATIENCE_MS;) {
    if (await condition()) return;
    assert.ok(!isOver, "the server has ended");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.fail("the server doesn't answer");
}

/** Calls `use` with the part of an address that names the model, on a server that any page may read. */
async function withModel(use) {
  const models = await serve({ "/": { folder: join(MODEL, ".."), csp: ANY_POLICY, isShared: true } });
  return use(`?model=${encodeURIComponent(`${models.origin}/model.gguf`)}`).finally(() => models.close());
}

/** What a page shows in its <output>. */
async function shownBy(browser, address) {
  const page = await browser.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  try {
    await page.goto(address);
    const shown = () => globalThis.document.querySelector("output")?.textContent;
    const handle = await page.waitForFunction(shown, { timeout: PATIENCE_MS });
    return JSON.parse(await handle.jsonValue());
  } catch (error) {
    error.message += `\n${complaints.join("\n")}`;
    throw error;
  } finally {
    await page.close();
  }
}

/** Makes the app of a row in a folder, with its framework and the package. */
async function makeApp(folder, { app, install = [], node, entry, files = {} }) {
  await cp(join(root, "tests", "frameworks", "apps", app), folder, { recursive: true });
  const shared = await readFile(join(root, "tests", "frameworks", "apps", "shared", "use_ropewalk.js"), "utf8");
  const { use = "use_ropewalk.js", ...manifest } = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8").catch(() => "{}"),
  );
  await mkdir(join(folder, use, ".."), { recursive: true });
  await writeFile(join(folder, use), entry === "inline" ? withInlineEntries(shared) : shared);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const isOwn = manifest.dependencies !== undefined; // the package.json of a framework's template
  const full = { private: true, ...(!isOwn && { type: "module" }), ...manifest };
  await writeFile(join(folder, "package.json"), JSON.stringify(full));
  // Frameworks that need a later Node than this one get it from npm.
  const needsNode = node !== undefined && Number(process.versions.node.split(".")[0]) < node;
  const packages = [...install, ...(needsNode ? [`node@${node}`] : [])];
  if (packages.length > 0 || isOwn)
    await capture("npm", ["install", "--no-audit", "--no-fund", "--silent", "--legacy-peer-deps", ...packages], {
      cwd: folder,
    });
  await installPackage(folder);
}

const withInlineEntries = (text) =>
  text.replace('"ropewalk"', '"ropewalk/inline"').replace('"ropewalk/worker"', '"ropewalk/worker/inline"');

async function versionOf(folder, name) {
  if (name === undefined) return "";
  return JSON.parse(await readFile(join(folder, "node_modules", name, "package.json"), "utf8")).version;
}

/** The check of one way to run an app: `{ serve }` and `{ folder }` are pages, `{ routes }` answers of a server, `{ print }` a program's output. */
async function check(app, browser, mode, row) {
  const env = mode.env ?? {};
  if (mode.build) await app.run(mode.build, env);
  const wanted = await expected();
  const compare = (results) => assert.deepEqual(results, wanted);
  if (mode.print) {
    const output = await app.run(mode.print, env);
    compare(JSON.parse(/\{"rotated".*?\}/.exec(output)?.[0] ?? assert.fail(output)));
  }
  const visit = (origin) =>
    withModel(async (model) => {
      for (const route of row.routes ?? []) compare(await (await fetch(`${origin}${route}${model}`)).json());
      if (row.page !== false) compare(await shownBy(browser, `${origin}/${model}`));
    });
  if (mode.serve) await app.withServer(mode.serve, env, visit);
  if (mode.folder) {
    const cdn = mode.cdn && (await serveCdn(app.folder, mode.cdn));
    const site = await serve({ "/": { folder: join(app.folder, mode.folder), csp: ANY_POLICY } });
    await visit(site.origin).finally(() => Promise.all([site.close(), cdn?.close()]));
  }
}

/** Serves the package as a CDN does, from another origin than the page, which names it instead of the CDN's address. */
async function serveCdn(folder, address) {
  const dist = join(folder, "node_modules", "ropewalk", "dist");
  const cdn = await serve({ "/": { folder: dist, csp: ANY_POLICY, isShared: true } });
  const page = join(folder, "index.html");
  await writeFile(page, (await readFile(page, "utf8")).replaceAll(address, cdn.origin));
  return cdn;
}

/** Tests each row, and records what worked. */
export function testFrameworks(rows) {
  for (const row of rows) {
    test(row.name, async (t) => {
      const folder = await makeFolder();
      const result = { name: row.name, setting: row.setting ?? "", error: row.error ?? "" };
      try {
        await makeApp(folder, row);
        await withBrowser("chromium", async (browser) => {
          result.version = await (row.version?.(browser) ?? versionOf(folder, row.package));
          for (const [title, mode] of Object.entries(row.modes)) {
            result[title] = "fails";
            await t.test(title, async () => {
              await check(new App(folder), browser, mode, row);
              result[title] = "works";
            });
          }
        });
      } finally {
        await record(result);
        if (!process.env.KEEP_APPS) await removeFolder(folder);
        else console.log(`${row.name}: ${folder}`);
      }
    });
  }
}
