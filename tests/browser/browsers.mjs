// Starts Chromium and Firefox with puppeteer-core: Chromium over the DevTools protocol, Firefox over WebDriver BiDi. And WebKit (webkit.mjs).

import assert from "node:assert/strict";
import puppeteer from "puppeteer-core";
import { findProgram } from "../../scripts/setup/machine.mjs";
import { withFirefoxProfile } from "./firefox.mjs";
import { launchWebKit } from "./webkit.mjs";

// no GPU, and no background requests
const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

// no icon in the tab: Firefox's own request for one would violate the policy `default-src 'none'`
const FIREFOX_PREFS = { "browser.chrome.site_icons": false };

/** Time limit of a protocol call. */
const TIMEOUT_MS = 30_000;

const PROGRAMS = {
  chromium: ["chromium", "chromium-browser", "google-chrome"],
  firefox: ["firefox-esr", "firefox"],
};

export const BROWSERS = [...Object.keys(PROGRAMS), "webkit"];

/** Those in which the tests of the site use its pages. `npm test` chooses one of them for time, and `npm test -- site` all. */
export const SITE_BROWSERS = process.env.ROPEWALK_SITE_BROWSERS?.split(",") ?? BROWSERS;

/** WebKitGTK has no OPFS without a profile on disk. */
export const hasOpfs = (name) => name !== "webkit";

/** The smallest window of WebKitGTK's MiniBrowser is wider than a phone. */
export const hasNarrowWindow = (name) => name !== "webkit";

function programOf(name) {
  const executablePath = PROGRAMS[name].map(findProgram).find(Boolean);
  if (!executablePath) throw new Error(`no ${name} on this machine: run \`npm run setup\``);
  return executablePath;
}

function launch(name, { firefoxPrefs, extension, profile, timeoutMs = TIMEOUT_MS }) {
  if (name === "webkit") return launchWebKit({ timeoutMs });
  const options = {
    executablePath: programOf(name),
    headless: true,
    protocolTimeout: timeoutMs,
    ...(profile !== undefined && { userDataDir: profile }),
  };
  return name === "firefox"
    ? puppeteer.launch({ ...options, browser: "firefox", extraPrefsFirefox: { ...FIREFOX_PREFS, ...firefoxPrefs } })
    : puppeteer.launch({
        ...options,
        args: CHROMIUM_FLAGS,
        ...(extension !== undefined && { pipe: true, enableExtensions: [extension] }),
      });
}

/**
 * Calls `use` with a headless browser that has a new profile. `firefoxPrefs` are entries of Firefox's about:config, `extension` the folder of one for
 * Chromium, and `profile` the folder of a profile of Chromium that is kept.
 */
export function withBrowser(name, use, options = {}) {
  if (name !== "firefox") return withLaunched(name, use, options);
  const start = (profile) => launch(name, { profile });
  return withFirefoxProfile(programOf(name), start, (profile) => withLaunched(name, use, { ...options, profile }));
}

async function withLaunched(name, use, options) {
  const browser = await launch(name, options);
  try {
    await use(browser);
  } finally {
    await browser.close();
  }
}

/** Opens an address. Returns the page and its complaints: errors and warnings on the console, and uncaught errors. */
export async function open(browser, address) {
  const page = await browser.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warn", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address, { waitUntil: "load" });
  return { page, complaints };
}

/** Runs a task in a page of its own, which must throw no errors. */
export async function inOwnPage(browser, task) {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  try {
    await task(page);
  } finally {
    await page.close();
  }
  assert.deepEqual(errors, []);
}

/** Runs one of the functions of pages/tasks.mjs or pages/cache_tasks.mjs in a page that has them. */
export function runTask(page, name, ...args) {
  return page.evaluate((task, values) => globalThis.runTask(task, ...values), name, args);
}

/**
 * Opens the test page at `origin`, or in a folder of it, and closes it after use. Fails if the page has complaints or violated the policy.
 */
export async function withPage(browser, origin, use) {
  const { page, complaints } = await open(browser, `${origin}/pages/index.html`);
  await use((task, ...args) => runTask(page, task, ...args));
  assert.deepEqual(await runTask(page, "violations"), []);
  assert.deepEqual(complaints, []);
  await page.close();
}
