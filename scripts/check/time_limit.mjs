// Kills a stage of `npm test` that hangs, and reports which programs it was waiting for.

import { capture } from "../run.mjs";

/** Characters of a command line that are shown. */
const MOST_CHARACTERS = 200;

/** What is killed may have started more programs meanwhile. */
const ROUNDS = 5;

/** Work that took too long. Some of it may go on, so the process should exit. */
export class TimeLimitError extends Error {
  name = "TimeLimitError";
}

/**
 * Returns what `act()` resolves to. After `minutes` it kills all programs that this process has started, and throws a TimeLimitError that
 * lists them with their running time, their processor time and their command line. Programs whose parent has exited aren't found.
 */
export async function withinMinutes(minutes, name, act) {
  let timer;
  let late; // once the time is over, a promise of the error
  let isDone = false;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => {
      late = killPrograms(() => isDone).then(
        (killed) => new TimeLimitError(`${name} took more than ${minutes} minutes; ${killed}`),
      );
      late.then(reject);
    }, minutes * 60_000);
  });
  try {
    return await Promise.race([act(), timeout]);
  } catch (error) {
    throw late === undefined ? error : await late; // what act() waits for fails when it is killed
  } finally {
    isDone = true;
    clearTimeout(timer);
  }
}

/** Kills all programs below this process, unless `isDone()` by then. Returns what it killed, as the end of a sentence. */
async function killPrograms(isDone) {
  const running = await programsBelow(process.pid);
  let rest = isDone() ? [] : running;
  for (let round = 0; round < ROUNDS && rest.length > 0; round++) {
    for (const { pid } of rest) kill(pid);
    rest = await programsBelow(process.pid);
  }
  const lines = running.map(({ line }) => `  ${line.slice(0, MOST_CHARACTERS)}`);
  return lines.length === 0 ? "none of its programs was found" : ["killed:", ...lines].join("\n");
}

/** The programs that a process has started, and those that they have started: { pid, line }. None on Windows, which has no ps. */
async function programsBelow(ancestor) {
  const output = await capture("ps", ["-A", "-o", "pid=,ppid=,stat=,etime=,time=,args="]).catch(() => "");
  const all = output.split("\n").flatMap((text) => {
    const [pid, parent, state, ...rest] = text.trim().split(/\s+/);
    const line = `${pid} ${rest.join(" ")}`;
    const isRunning = state !== undefined && !state.startsWith("Z") && !line.includes(" ps -A ");
    return isRunning ? [{ pid: Number(pid), parent: Number(parent), line }] : [];
  });
  const below = (parent) =>
    all.filter((program) => program.parent === parent).flatMap((program) => [program, ...below(program.pid)]);
  return below(ancestor);
}

function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended
  }
}
