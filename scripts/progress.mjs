// Shows how far a long step has come: in a terminal one line that changes, elsewhere a line every 15 seconds.

import { eachLine, verbose } from "./run.mjs";

const SECONDS_BETWEEN_LINES = 15;

/** Runs a build and shows its name with Ninja's steps and an estimate, as in `building wasm [34/67], about 40 s left`. Compiler lines show with --verbose. */
export async function runBuild(name, command, args, options = {}) {
  const title = `building ${name}`;
  const line = await startLine(title);
  const start = performance.now();
  try {
    await eachLine(command, args, options, (text) => {
      if (verbose) console.log(text);
      const [steps, done, all] = /^\[(\d+)\/(\d+)\]/.exec(text) ?? [];
      if (steps)
        line.update(`${title} ${steps}${timeLeft((performance.now() - start) / 1000, Number(done), Number(all))}`);
    });
  } finally {
    line.clear();
  }
}

/** An estimate of the rest, once enough is done for one. Steps take about the same time each. */
export function timeLeft(seconds, done, all) {
  if (done >= all || seconds < 3) return "";
  const left = (seconds / done) * (all - done);
  return left < 90 ? `, about ${Math.max(1, Math.round(left))} s left` : `, about ${Math.round(left / 60)} min left`;
}

async function startLine(text) {
  if (!process.stdout.isTTY || verbose) return logLines(text);
  const { SingleBar } = await import("cli-progress");
  const bar = new SingleBar({ format: "{text}", clearOnComplete: true, hideCursor: true, stream: process.stdout });
  bar.start(1, 0, { text });
  return { update: (text) => bar.update({ text }), clear: () => bar.stop() };
}

function logLines(text) {
  console.log(text);
  let last = performance.now();
  const update = (text) => {
    if (verbose || performance.now() - last < SECONDS_BETWEEN_LINES * 1000) return;
    last = performance.now();
    console.log(text);
  };
  return { update, clear() {} };
}
