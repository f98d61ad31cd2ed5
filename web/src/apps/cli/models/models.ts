// `ropewalk models`: lists and removes the models of the Hub that are kept on this device.
import * as advise from "../../../core/base/advice.js";
import type { Command } from "commander";
import { fail } from "../../../core/base/errors.js";
import { type CachedModel, load } from "../../../index.node.js";
import { formatBytes } from "../format.js";
import type { Terminal } from "../terminal.js";

const EXAMPLES = `
Models that are opened by name are kept in the folder of huggingface_hub ($HF_HUB_CACHE, $HF_HOME/hub or
~/.cache/huggingface/hub), so what Python has downloaded isn't downloaded again. The list has both.

Examples:
  ropewalk models list
  ropewalk models remove HuggingFaceTB/SmolLM2-135M-Instruct`;

/** Adds `ropewalk models`. */
export function addModels(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("models")
    .summary("list and remove the models that are kept on this device")
    .description("List and remove the models of the Hub that are kept on this device.")
    .addHelpText("after", EXAMPLES);
  command
    .command("list")
    .description("List the models of the Hub that are kept on this device, largest first.")
    .action(() => list(terminal()));
  command
    .command("remove")
    .description("Remove all that is kept of a model: every file and revision.")
    .argument("<names...>", "names as `ropewalk models list` prints them")
    .action((names: readonly string[]) => remove(terminal(), names));
}

async function list(terminal: Terminal): Promise<void> {
  const rw = await load({ threads: 1 });
  const models = (await rw.cachedModels()).sort((a, b) => b.bytes - a.bytes);
  terminal.result(models.map(({ source, bytes, size }) => ({ name: source, bytes, size })));
  if (models.length === 0) terminal.print("no models are kept on this device");
  else terminal.print(terminal.table(models.map(row), { align: "lr", head: ["name", "size"] }));
}

function row({ source, bytes, size }: CachedModel): string[] {
  return [source, bytes < size ? `${formatBytes(bytes)} of ${formatBytes(size)}` : formatBytes(bytes)];
}

async function remove(terminal: Terminal, names: readonly string[]): Promise<void> {
  const rw = await load({ threads: 1 });
  const kept = new Set((await rw.cachedModels()).map(({ source }) => source));
  const unknown = names.find((name) => !kept.has(name));
  if (unknown !== undefined)
    fail(
      "INVALID_ARGUMENT",
      unknown,
      "isn't kept on this device",
      advise.other("`ropewalk models list` prints the names"),
    );
  for (const name of names) {
    await rw.deleteCachedModel(name);
    terminal.print(`removed ${name}`);
  }
  terminal.result({ removed: names });
}
