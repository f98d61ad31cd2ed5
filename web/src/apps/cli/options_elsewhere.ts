// Options of llama.cpp and vLLM, and what they are here.
import type { Command, CommanderError } from "commander";
import { type Elsewhere, rowOf } from "../../core/base/elsewhere.js";

/** Names elsewhere, separated by spaces, by the option here, or by words that follow the name in a sentence. @internal */
export const OPTIONS_ELSEWHERE: Elsewhere = {
  "--context": "-c --ctx-size --n-ctx --num-ctx --max-model-len",
  "--max-tokens": "--n-predict --predict --max-length --max-new-tokens --max-output-tokens",
  "--temperature": "--temp",
  "--threads": "--n-threads --threads-batch",
  "--system": "-sys --system-prompt",
  "--kv": "-ctk -ctv --cache-type-k --cache-type-v --kv-cache-dtype",
  "--draft": "-md --model-draft --speculative-model",
  "--draft-tokens": "--draft-max --draft-n",
  "--rope-type": "--rope-scaling",
  "--factor": "--rope-scale",
  "--theta": "--rope-freq-base",
  "--trained-length": "--yarn-orig-ctx",
  "--repetition-penalty": "--repeat-penalty",
  "--penalty-window": "--repeat-last-n",
  "--dry": "--dry-multiplier",
  "--xtc": "--xtc-probability",
  "--grammar": "--grammar-file",
  "--json-schema": "-j --json-schema-file",
  "--stop": "-r --reverse-prompt",
  "--ignore-end": "--ignore-eos",
  "--session": "--prompt-cache",
  "--name": "-a --alias --served-model-name",
  "--token": "--api-key",
  "--parallel": "-np --n-parallel --max-num-seqs",
  "is an argument here, without an option": "-m --model -hf --hf-repo -p --prompt -f --file",
  "has no counterpart here: models run on the CPU":
    "-ngl --gpu-layers --n-gpu-layers --device -dev --tensor-parallel-size",
  "has no counterpart here: attention needs no setting": "-fa --flash-attn",
};

/** The message of a wrong option or a missing argument, with what it is here; undefined if there is nothing to add. */
export function usageHint({ code, message }: CommanderError, command: Command): string | undefined {
  const name = /'([^'<\s]+)/.exec(message)?.[1];
  if (name === undefined) return undefined;
  if (code === "commander.missingArgument") {
    const takesStdin = command.registeredArguments.find((one) => one.name() === name)?.description.includes("- reads");
    return takesStdin ? `missing required argument '${name}'; - reads it from stdin` : undefined;
  }
  if (code !== "commander.unknownOption") return undefined;
  const own = command.options.flatMap(({ long }) => long ?? []);
  const row = rowOf(name, OPTIONS_ELSEWHERE, own);
  if (row === undefined) return undefined;
  return `unknown option '${name}'; ${name} ${row.includes(" ") ? row : `is ${row} here`}`;
}
