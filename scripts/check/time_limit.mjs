// Ends a stage of `npm test` that hangs, and tells which programs it waited for.

import { capture } from "../run.mjs";

const MOST_CHARACTERS = 200; // of a command line

/**
 * Returns what `act()` resolves to. After `minutes` it ends all programs that this process has started, and throws an error that lists them
 * with their running time, their processor time and their command line.
 */
export async function withinMinutes(minutes, name, act) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(async () => {
      const programs = await programsBelow(process.pid).catch(() => []); // Windows has no ps
      const lines = programs.map(({ line }) => line.slice(0, MOST_CHARACTERS));
      reject(
        new Error([`${name} took more than ${minutes} minutes. Still running, and ended now:`, ...lines].join("\n")),
      );
      for (const { pid } of programs) endProgram(pid);
    }, minutes * 60_000);
  });
  try {
    return await Promise.race([act(), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** The programs that a process has started, and those that they have started: { pid, line }. */
async function programsBelow(ancestor) {
  const output = await capture("ps", ["-A", "-o", "pid=,ppid=,etime=,time=,args="]);
  const lines = output.split("\n").filter((line) => !line.includes(" ps -A ")); // which has ended
  const all = lines.map((line) => {
    const [pid, parent, ...rest] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), line: `${pid} ${rest.join(" ")}` };
  });
  const below = (parent) =>
    all.filter((program) => program.parent === parent).flatMap((program) => [program, ...below(program.pid)]);
  return below(ancestor);
}

/** Ends a program if it still runs. */
function endProgram(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}
