// The files of a decision checkpoint: an encoder and a head that scores options, as the laya package and Julia-1 save them.
import * as advise from "../../../core/base/advice.js";
import type { Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { type FileSet, MissingFile } from "../byte_source.js";
import { fieldOf } from "../errors.js";
import { readJson } from "../json_file.js";
import type { FolderFiles } from "./folder.js";

/** How the head of a decision checkpoint is asked. */
export interface DecisionFile {
  /** Name of the file. */
  readonly name: "rl_agent_config.json" | "julia_config.json";
  readonly config: Dict;
}

/**
 * Reads the files other than weights. The encoder's config and the tokenizer are in folders of their own.
 * @throws INVALID_FILE, NETWORK
 * @internal
 */
export async function readDecisionFolder(
  set: FileSet,
  signal?: AbortSignal,
): Promise<FolderFiles & { decision: DecisionFile }> {
  const optional = async (name: string): Promise<Dict | undefined> => {
    const source = await set.open(name, signal);
    return source instanceof MissingFile ? undefined : readJson(source, signal);
  };
  const required = async (name: string): Promise<Dict> => {
    const source = await set.open(name, signal);
    if (source instanceof MissingFile)
      fail(
        source.code,
        fieldOf(name, "file"),
        `${source.reason}. The weights are those of a decision checkpoint, which needs it`,
        advise.other("pass the whole folder of the model"),
      );
    return readJson(source, signal);
  };
  const julia = await optional("julia_config.json");
  const decision: DecisionFile =
    julia === undefined
      ? { name: "rl_agent_config.json", config: await required("rl_agent_config.json") }
      : { name: "julia_config.json", config: julia };
  const tokenizer = await optional("tokenizer/tokenizer.json");
  const tokenizerConfig = await optional("tokenizer/tokenizer_config.json");
  return {
    decision,
    config: await required("encoder/config.json"),
    ...(tokenizer && { tokenizer }),
    ...(tokenizerConfig && { tokenizerConfig }),
  };
}
