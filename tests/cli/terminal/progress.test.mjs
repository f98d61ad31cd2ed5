// Progress bars in a terminal: amounts with units, from 0 up to 100 %, and nothing left of them.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { program } from "../program.mjs";

const model = fileURLToPath(new URL("../../../examples/small_model", import.meta.url));

/** util-linux's `script` runs a program in a terminal; that of other systems has other options. */
function hasScript() {
  try {
    return execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux");
  } catch {
    return false;
  }
}

test("a bar shows MiB, tokens and percents that never fall", { skip: !hasScript() && "no util-linux" }, async () => {
  const quoted = [process.execPath, program, "generate", model, "The red ball is in the garden. ".repeat(30)]
    .map((argument) => `'${argument}'`)
    .join(" ");
  const command = `${quoted} --max-tokens 1 --context 512 --temperature 0`;
  const { stdout } = await promisify(execFile)("script", ["-qec", command, join("/dev", "null")], {
    env: { ...process.env, TERM: "xterm", COLUMNS: "160" },
  });
  // eslint-disable-next-line no-control-regex -- terminals are driven by them
  const lines = stdout.split(/\u001b\[[\d?]*[A-Za-z]|[\r\n]/).filter((line) => /[█░]/.test(line));
  for (const [label, amount] of [
    ["Loading ", /(\d+) % · [\d.]+ [KM]iB of [\d.]+ MiB/],
    ["Reading the prompt ", /(\d+) % · [\d,]+ of [\d,]+ tokens/],
  ]) {
    const shares = lines.filter((line) => line.startsWith(label)).map((line) => Number(amount.exec(line)?.[1]));
    assert.ok(shares.length >= 2, label);
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => a - b),
      label,
    );
    assert.ok(shares[0] < 100, `${label} begins at ${shares[0]} %`);
    assert.equal(shares.at(-1), 100, label);
  }
});
