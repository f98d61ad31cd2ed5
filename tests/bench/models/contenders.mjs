// What reads a text in the benchmark of models: the package and limits in Workers of a page, llama.cpp in the page and natively. Each has
//
//   open(file)              loads a model. Returns facts about it, or undefined if there is no such contender here
//   append(count, times)    milliseconds until the logits are there, `times` times
//   rewind(length)          keeps the first tokens
//   repeat(times)           makes the text `times` as long without reading it: the package in Workers, and llama.cpp natively
//   compareLengths(lengths, times)   for the package: milliseconds of a token after texts of these lengths, `times` times, in turn
//   close()
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "..", "..", "..");
const peerAt = (build, file) => join(root, "build", "peers", build, file);

/** A contender in a Worker of `page`, which models/page.mjs runs. */
export function inWorker(page, name, worker, options) {
  const call = (method, ...args) =>
    page.evaluate((id, ...call) => globalThis.callContender(id, ...call), name, method, ...args);
  return {
    name,
    options,
    open: ({ address }) =>
      page.evaluate((...args) => globalThis.openContender(...args), name, worker, address, options),
    append: (count, times = 1) => call("append", count, times),
    rewind: (length) => call("rewind", length),
    repeat: (times) => call("repeat", times),
    ...(worker === "ropewalk_worker.mjs" && {
      compareLengths: (lengths, times) => call("compareLengths", lengths, times),
    }),
    close: () => page.evaluate((id) => globalThis.closeContender(id), name),
  };
}

/** llama.cpp as a program of its own. */
export function nativeLlama(name, { threads, cache, flash, context }) {
  let program, lines;
  const command = async (...words) => {
    program.stdin.write(`${words.join(" ")}\n`);
    return (await nextLine()).trim().split(" ").map(Number);
  };
  const nextLine = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${name} ended with exit code ${program.exitCode}`);
    return value;
  };
  return {
    name,
    options: { threads, cache, flash },
    async open({ path }) {
      const args = [path, threads, cache, Number(flash), ...(context ? [context] : [])].map(String);
      program = spawn(peerAt("native", "llama_driver"), args, { stdio: ["pipe", "pipe", "inherit"] });
      lines = createInterface(program.stdout)[Symbol.asyncIterator]();
      await nextLine();
      return {};
    },
    append: (count, times = 1) => command("append", count, times),
    rewind: (length) => command("rewind", length, 1),
    repeat: (times) => command("repeat", times, 1),
    async close() {
      program?.stdin.end();
      if (program?.exitCode === null) await once(program, "exit");
    },
  };
}

export const hasPeer = {
  native: () => existsSync(peerAt("native", "llama_driver")),
  wasm: (threads) => existsSync(peerAt(threads > 1 ? "wasm-threads" : "wasm", "llama_driver.wasm")),
};
