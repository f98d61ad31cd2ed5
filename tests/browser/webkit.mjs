// Drives WebKit: MiniBrowser of WebKitGTK under Xvfb, with selenium-webdriver. Browsers and pages have those methods of puppeteer's that the
// tests use, so that a test is the same in each browser.
//
// WebKitGTK has no WebDriver BiDi yet. So a page's complaints are collected by a script that starts when the page has loaded, and functions that
// run in a page are started and then asked for, so that pages can work at the same time.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Builder, By, Capabilities, Key } from "selenium-webdriver";
import { findMiniBrowser, findProgram } from "../../scripts/setup/machine.mjs";

/** Time limit of a page's function, unless `timeoutMs` sets another. */
const TIMEOUT_MS = 30_000;
const POLL_MS = 10;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a display that nobody sees. Returns its process and name. */
async function startDisplay() {
  const flags = ["-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"];
  const display = spawn("Xvfb", flags, { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const [number] = await Promise.race([
    once(display.stdio[3], "data"),
    once(display, "error").then(([error]) => Promise.reject(error)),
    once(display, "exit").then(() => Promise.reject(new Error("Xvfb ended"))),
  ]);
  return { display, name: `:${String(number).trim()}` };
}

/** Starts WebKitWebDriver and a browser with a new profile, which is kept in memory. */
export async function launchWebKit({ timeoutMs = TIMEOUT_MS } = {}) {
  const binary = findMiniBrowser();
  if (!binary || !findProgram("WebKitWebDriver") || !findProgram("Xvfb"))
    throw new Error("no webkit on this machine: run `npm run setup`");
  const { display, name } = await startDisplay();
  const port = await freePort();
  const env = {
    ...process.env,
    DISPLAY: name,
    GDK_BACKEND: "x11",
    JSC_useSharedArrayBuffer: "1", // as Safari does in isolated pages
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1", // root and most containers can't make one; the tests load only their own pages
  };
  const server = spawn("WebKitWebDriver", [`--port=${port}`], { env, stdio: "ignore" });
  const stop = () => {
    server.kill();
    display.kill();
  };
  process.once("exit", stop);
  try {
    const capabilities = new Capabilities({
      browserName: "MiniBrowser",
      "webkitgtk:browserOptions": { binary, args: ["--automation"] },
    });
    const driver = await connect(`http://127.0.0.1:${port}`, capabilities);
    await driver.manage().setTimeouts({ script: timeoutMs, pageLoad: timeoutMs });
    return new Browser(driver, timeoutMs, () => {
      process.off("exit", stop);
      stop();
    });
  } catch (error) {
    stop();
    throw error;
  }
}

/** Opens a session as soon as the server listens. */
async function connect(address, capabilities) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await new Builder().usingServer(address).withCapabilities(capabilities).build();
    } catch (error) {
      if (attempt === 50 || !/ECONNREFUSED/.test(error.message)) throw error;
      await sleep(100);
    }
  }
}

class Browser {
  #driver;
  #timeoutMs;
  #stop;
  #last = Promise.resolve();
  #firstPage;

  constructor(driver, timeoutMs, stop) {
    this.#driver = driver;
    this.#timeoutMs = timeoutMs;
    this.#stop = stop;
    this.#firstPage = driver.getWindowHandle();
  }

  async version() {
    const capabilities = await this.#driver.getCapabilities();
    return `WebKitGTK/${capabilities.get("browserVersion")}`;
  }

  /** The first page stays open, empty: without a page the browser would end. */
  async newPage() {
    const handle = await this.#alone(async (driver) => {
      await driver.switchTo().window(await this.#firstPage);
      await driver.switchTo().newWindow("window");
      return driver.getWindowHandle();
    });
    const inPage = (use) =>
      this.#alone(async (driver) => {
        await driver.switchTo().window(handle);
        return use(driver);
      });
    return new Page(inPage, this.#timeoutMs);
  }

  async close() {
    try {
      await this.#driver.quit();
    } finally {
      this.#stop();
    }
  }

  /** Commands of a session come one after the other. */
  #alone(use) {
    const result = this.#last.then(() => use(this.#driver));
    this.#last = result.catch(() => {});
    return result;
  }
}

const isLoaded = "return document.readyState === 'complete' && location.href === new URL(arguments[0]).href";

/** In a page: records errors and warnings. */
function recordComplaints() {
  const complaints = [];
  globalThis.takeComplaints = () => complaints.splice(0);
  for (const name of ["error", "warn"]) console[name] = (...values) => complaints.push(values.map(String).join(" "));
  addEventListener("error", ({ message }) => complaints.push(message));
  addEventListener("unhandledrejection", ({ reason }) => complaints.push(String(reason)));
}

/** In a page: calls a function, and keeps its result until it is asked for. */
function startCall(number, call) {
  const calls = (globalThis.callsOfTest ??= {});
  const settle = (state) => Object.assign(calls[number], state);
  calls[number] = { isKnown: true };
  Promise.resolve()
    .then(call)
    .then(
      (value) => settle({ isDone: true, result: JSON.stringify(value) }),
      (error) => settle({ isDone: true, error: `${error}\n${error?.stack ?? ""}` }),
    );
}

class Page {
  #inPage;
  #timeoutMs;
  #listeners = [];
  #calls = 0;

  keyboard = {
    press: (name) =>
      this.#inPage(async (driver) =>
        driver
          .switchTo()
          .activeElement()
          .sendKeys(Key[name.replace(/(?<=[a-z])(?=[A-Z])/, "_").toUpperCase()]),
      ),
  };

  constructor(inPage, timeoutMs) {
    this.#inPage = inPage;
    this.#timeoutMs = timeoutMs;
  }

  /** `listener` gets what puppeteer's gets, if the event is "pageerror"; the other events don't exist. */
  on(event, listener) {
    if (event === "pageerror") this.#listeners.push(listener);
  }

  setDefaultTimeout(timeoutMs) {
    this.#timeoutMs = timeoutMs;
  }

  goto(address) {
    return this.#inPage(async (driver) => {
      await driver.get(address);
      // the first page of a process may answer before it has left the empty page
      await driver.wait(() => driver.executeScript(isLoaded, address), this.#timeoutMs);
      await driver.executeScript(`(${recordComplaints})()`);
    });
  }

  async evaluate(run, ...args) {
    const values = args.map((value) => (value === undefined ? "undefined" : JSON.stringify(value))).join(", ");
    const number = this.#calls++;
    const script = `(${startCall})(${number}, () => (${run})(${values}))`;
    await this.#inPage((driver) => driver.executeScript(script));
    const deadline = performance.now() + this.#timeoutMs;
    for (;;) {
      const { isKnown, isDone, result, error } = await this.#answer(number);
      if (!isKnown) throw new Error(`the page was left before its function ended: ${run}`);
      if (error !== undefined) throw new Error(error);
      if (isDone) return result === undefined || result === null ? undefined : JSON.parse(result);
      if (performance.now() > deadline)
        throw new Error(`a page's function takes longer than ${this.#timeoutMs} ms: ${run}`);
      await sleep(POLL_MS);
    }
  }

  /** The state of a call. Passes on what the page complained about meanwhile. */
  async #answer(number) {
    const script = `return { ...globalThis.callsOfTest?.[${number}], complaints: globalThis.takeComplaints?.() ?? [] }`;
    const { complaints, ...state } = await this.#inPage((driver) => driver.executeScript(script));
    for (const complaint of complaints) for (const listener of this.#listeners) listener(complaint);
    return state;
  }

  $eval(selector, run, ...args) {
    return this.#evaluateWith(`(${run})(document.querySelector(selector), ...args)`, selector, args);
  }

  $$eval(selector, run, ...args) {
    return this.#evaluateWith(`(${run})([...document.querySelectorAll(selector)], ...args)`, selector, args);
  }

  #evaluateWith(expression, selector, args) {
    return this.evaluate(`(selector, args) => ${expression}`, selector, args);
  }

  async waitForFunction(run, { timeout = this.#timeoutMs } = {}, ...args) {
    const deadline = performance.now() + timeout;
    while (!(await this.evaluate(`async (...args) => Boolean(await (${run})(...args))`, ...args))) {
      if (performance.now() > deadline) throw new Error(`waited ${timeout} ms for ${run}`);
      await sleep(POLL_MS);
    }
  }

  waitForSelector(selector) {
    return this.waitForFunction((wanted) => document.querySelector(wanted) !== null, {}, selector);
  }

  click(selector) {
    return this.#inPage(async (driver) => driver.findElement(By.css(selector)).click());
  }

  type(selector, text) {
    return this.#inPage(async (driver) => driver.findElement(By.css(selector)).sendKeys(text));
  }

  hover(selector) {
    return this.#inPage(async (driver) => {
      const origin = await driver.findElement(By.css(selector));
      await driver.executeScript("arguments[0].scrollIntoView({ block: 'center' })", origin);
      await driver.actions().move({ origin, x: 0, y: 0 }).perform();
    });
  }

  select(selector, value) {
    return this.$eval(
      selector,
      (list, chosen) => {
        list.value = chosen;
        for (const type of ["input", "change"]) list.dispatchEvent(new Event(type, { bubbles: true }));
      },
      value,
    );
  }

  async $(selector) {
    const uploadFile = (...paths) =>
      this.#inPage(async (driver) => driver.findElement(By.css(selector)).sendKeys(paths.join("\n")));
    return { uploadFile };
  }

  async $$(selector) {
    return Array(await this.evaluate((wanted) => document.querySelectorAll(wanted).length, selector)).fill(undefined);
  }

  /** Sets the size of the window so that the page has this size. */
  async setViewport({ width, height }) {
    const inner = () => this.evaluate(() => [innerWidth, innerHeight]);
    for (let attempt = 0; attempt < 3; attempt++) {
      const [innerWidth, innerHeight] = await inner();
      if (innerWidth === width) return;
      await this.#inPage(async (driver) => {
        const size = await driver.manage().window().getRect();
        await driver
          .manage()
          .window()
          .setRect({
            width: size.width + width - innerWidth,
            height: size.height + height - innerHeight,
          });
      });
      await sleep(100);
    }
  }

  close() {
    return this.#inPage((driver) => driver.close());
  }
}
