// The token for models by name: from the environment, or the file that `hf auth login` of huggingface_hub writes. Where the Hub is, the
// package reads itself from HF_ENDPOINT, which --hub sets.
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ModelOptions } from "../index.node.js";

/** Options for opening a model by its name. */
export async function hubOptions(): Promise<Pick<ModelOptions, "token">> {
  const token = process.env["HF_TOKEN"]?.trim() || (await storedToken());
  return token === "" ? {} : { token };
}

async function storedToken(): Promise<string> {
  const { HF_TOKEN_PATH, HF_HOME, XDG_CACHE_HOME } = process.env;
  const home = HF_HOME || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "huggingface");
  return (await readFile(HF_TOKEN_PATH || join(home, "token"), "utf8").catch(() => "")).trim();
}
