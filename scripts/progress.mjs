// Shows how far a long step has come: in a terminal one line that changes, elsewhere one line in all.

import { eachLine, verbose } from "./run.mjs";

/** Runs a build and shows its name with Ninja's count, as in `building wasm [34/67]`. Compiler lines show with --verbose. */
export async function runBuild(name, command, args, options = {}) {
  const line = await startLine(`building ${name}`);
  try {
    await eachLine(command, args, options, (text) => {
      if (verbose) console.log(text);
      const [count] = /^\[\d+\/\d+\]/.exec(text) ?? [];
      if (count) line.update(`building ${name} ${count}`);
    });
  } finally {
    line.clear();
  }
}

async function startLine(text) {
  if (!process.stdout.isTTY || verbose) {
    console.log(text);
    return { update() {}, clear() {} };
  }
  const { SingleBar } = await import("cli-progress");
  const bar = new SingleBar({ format: "{text}", clearOnComplete: true, hideCursor: true, stream: process.stdout });
  bar.start(1, 0, { text });
  return { update: (text) => bar.update({ text }), clear: () => bar.stop() };
}
