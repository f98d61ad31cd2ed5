// Where the Hub is, by --hub, and the token for it: from the environment, or the file that `hf auth login` of huggingface_hub writes. Without
// --hub the package reads HF_ENDPOINT itself.
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import type { ModelOptions } from "../../index.node.js";

/** The value of --hub: one for the program, because each command opens models in several places. */
let chosenHub: string | undefined;

/** Sets where models are opened by name. */
export function chooseHub(address: string | undefined): void {
  if (address === "") fail("INVALID_ARGUMENT", "--hub", "is empty", advise.other("pass the address of a Hub"));
  chosenHub = address;
}

/** Options for opening a model by its name. */
export async function hubOptions(): Promise<Pick<ModelOptions, "hub" | "token">> {
  const token = process.env["HF_TOKEN"]?.trim() || (await storedToken());
  return { ...(chosenHub !== undefined && { hub: chosenHub }), ...(token !== "" && { token }) };
}

async function storedToken(): Promise<string> {
  const { HF_TOKEN_PATH, HF_HOME, XDG_CACHE_HOME } = process.env;
  const home = HF_HOME || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "huggingface");
  return (await readFile(HF_TOKEN_PATH || join(home, "token"), "utf8").catch(() => "")).trim();
}
