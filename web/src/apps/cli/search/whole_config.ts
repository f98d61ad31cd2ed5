// The config.json of a model's folder with the scaling that was found.
import * as advise from "../../../core/base/advice.js";
import { join } from "node:path";
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { isFolder } from "../../../runtime/files/node_files.js";
import type { FoundRope } from "../../search/space.js";
import { parseConfig, readTextFile } from "../input_file.js";

/** A parsed config.json. */
export type ConfigFile = Dict;

/** Keys beside a scaling in `rope_parameters` that aren't of a scaling. */
const KEPT = ["rope_theta", "partial_rotary_factor"];

/** Reads the config.json of a folder. @throws RopewalkError INVALID_ARGUMENT (the model isn't a folder, or nests its text model), INVALID_FILE */
export async function readModelConfig(source: string): Promise<ConfigFile> {
  if (!(await isFolder(source)))
    fail(
      "INVALID_ARGUMENT",
      "--whole-config",
      "needs a model in a folder with a config.json",
      advise.other("leave it out: the output then has the keys that change"),
    );
  const path = join(source, "config.json");
  const config = parseConfig(path, await readTextFile(path));
  if (isDict(config["text_config"]))
    fail(
      "INVALID_ARGUMENT",
      "--whole-config",
      `can't be used: ${path} has its text model in text_config`,
      advise.other("leave it out, and put the keys there"),
    );
  return config;
}

/** A config with another scaling, under the name that it has for it: `rope_parameters` since transformers 5. */
export function configWith(config: ConfigFile, { max_position_embeddings, rope_scaling }: FoundRope): ConfigFile {
  const { rope_scaling: _, ...others } = config;
  const own = config["rope_parameters"];
  if (!isDict(own)) return { ...others, max_position_embeddings, rope_scaling };
  const kept = Object.fromEntries(Object.entries(own).filter(([key]) => KEPT.includes(key)));
  return { ...others, max_position_embeddings, rope_parameters: { ...kept, ...rope_scaling } };
}
