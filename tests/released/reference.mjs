// Asks the reference packages: runs a script of reference/ with some inputs, and reads what it writes.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "../../scripts/run.mjs";
import { referenceEnvironment, referencePython } from "../../scripts/setup/python.mjs";

/** The answer of reference/<script> about some inputs; `args` are its other arguments. */
export function ask(script, inputs, ...args) {
  return withFolder(async (folder) => {
    const output = join(folder, "output.json");
    await runReference(script, folder, inputs, output, ...args);
    return JSON.parse(await readFile(output, "utf8"));
  });
}

/** Calls `use` with a temporary folder. */
export async function withFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-released-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs reference/<script> with a file of the inputs and other arguments. */
export async function runReference(script, folder, inputs, ...args) {
  const file = join(folder, "inputs.json");
  await writeFile(file, JSON.stringify(inputs));
  const path = join(import.meta.dirname, "reference", script);
  await capture(referencePython(), [path, file, ...args], { env: referenceEnvironment });
}
