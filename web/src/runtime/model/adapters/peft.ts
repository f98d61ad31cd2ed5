// Adapters as PEFT saves them: adapter_config.json, and tensors named after the modules of the model in transformers.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import type { AdapterFiles } from "../../files/adapter_files.js";
import { invalidFile } from "../../files/errors.js";
import { addPart, type LowRank, pairUp, type Parts, unsupported } from "./low_rank.js";
import { ModulePatterns } from "./module_patterns.js";

const CONFIG = "adapter_config.json";

/** Keys of the config that don't change what the saved tensors mean: notes, training, and which modules have tensors. */
const WITHOUT_EFFECT = new Set([
  ...["task_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode"],
  ...["target_modules", "exclude_modules", "layers_to_transform", "layers_pattern", "lora_dropout", "runtime_config"],
  ...["megatron_config", "megatron_core", "eva_config", "qalora_group_size", "ensure_weight_tying"],
  "fan_in_fan_out", // how the base weight is stored: A and B are not transposed with it
]);

/** Keys that are read below. */
const READ = new Set([
  ...["peft_type", "r", "lora_alpha", "rank_pattern", "alpha_pattern", "use_rslora", "lora_bias", "init_lora_weights"],
]);

/** By PEFT, in Python. */
const MERGE = "merge it into the model with merge_and_unload()";

/** Other ways to change a model, by the keys that ask for them, and what to do. */
const REFUSED: Readonly<Record<string, readonly [problem: string, advice: string]>> = {
  use_dora: ["DoRA scales the rows of the whole weight", MERGE],
  bias: ["the adapter changes the biases of the model", `train it with bias="none", or ${MERGE}`],
  modules_to_save: ["the adapter replaces whole modules", MERGE],
};

/** Initializations that also change the base weights. */
const CHANGES_BASE = /^(pissa|olora|corda|loftq|lora_ga)/;

/** Which tensors make up a weight's terms. */
const TENSOR = /^(?:base_model\.model\.)?(.+)\.(lora_A\.weight|lora_B\.weight|lora_B\.bias|base_layer\.weight)$/;
const PARTS = {
  "lora_A.weight": "a",
  "lora_B.weight": "b",
  "lora_B.bias": "bias",
  "base_layer.weight": "base",
} as const;

/**
 * @throws {@link RopewalkError} INVALID_FILE, UNSUPPORTED_MODEL
 * @internal
 */
export function readPeft(files: AdapterFiles): LowRank[] {
  const { config } = files;
  checkConfig(config);
  const ranks = patterns(config, "rank_pattern");
  const alphas = patterns(config, "alpha_pattern");
  const [r, alpha] = [numberOf(config, "r", 8), numberOf(config, "lora_alpha", 8)];
  const isStabilized = config["use_rslora"] === true;
  const parts: Parts = new Map();
  for (const tensor of files.tensors.values()) {
    const [, module, part] = TENSOR.exec(tensor.name) ?? [];
    if (module === undefined) return refuseTensor(files, tensor.name);
    addPart(parts, `${module}.weight`, PARTS[part as keyof typeof PARTS], tensor);
  }
  return pairUp(files, parts, { a: "lora_A.weight", b: "lora_B.weight" }, (target, rank, tensor) => {
    const module = target.slice(0, -".weight".length);
    const expected = ranks.valueFor(module) ?? r;
    if (rank !== expected)
      invalidFile(
        files.name,
        tensor,
        `has rank ${rank}, but ${CONFIG} says ${expected}`,
        advise.other("get both files again"),
      );
    return (alphas.valueFor(module) ?? alpha) / (isStabilized ? Math.sqrt(rank) : rank);
  });
}

function checkConfig(config: AdapterFiles["config"]): void {
  const type = config["peft_type"];
  if (type !== "LORA")
    unsupported(CONFIG, "peft_type", `must be "LORA", the only kind of adapter that is supported (got ${show(type)})`);
  for (const [key, value] of Object.entries(config)) {
    if (READ.has(key) || WITHOUT_EFFECT.has(key) || isOff(value) || (key === "bias" && value === "none")) continue;
    const [reason, advice] = REFUSED[key] ?? ["it changes how the adapter works"];
    unsupported(
      CONFIG,
      key,
      `${show(value)} isn't supported: ${reason}`,
      advice === undefined ? undefined : advise.other(advice),
    );
  }
  const initial = config["init_lora_weights"];
  if (typeof initial === "string" && CHANGES_BASE.test(initial))
    unsupported(
      CONFIG,
      "init_lora_weights",
      `${show(initial)} also changes the base model`,
      advise.other("save the adapter as LoRA with path_initial_model_for_weight_conversion"),
    );
}

/** Whether a value of a key means that its feature isn't used. */
function isOff(value: unknown): boolean {
  if (value === null || value === false || (Array.isArray(value) && value.length === 0)) return true;
  return isDict(value) && Object.keys(value).length === 0;
}

function refuseTensor(files: AdapterFiles, name: string): never {
  const [problem, advice]: readonly string[] = /lora_embedding_[AB]$/.test(name)
    ? ["changes the embedding, which isn't supported", `train the adapter without it, or ${MERGE}`]
    : /lora_magnitude_vector/.test(name)
      ? REFUSED["use_dora"]!
      : ["isn't a part of a LoRA adapter (lora_A.weight, lora_B.weight or lora_B.bias)"];
  return unsupported(files.name, name, problem!, advice === undefined ? undefined : advise.other(advice));
}

function numberOf(config: AdapterFiles["config"], key: string, missing: number): number {
  const value = config[key] ?? missing;
  if (typeof value !== "number" || !Number.isFinite(value))
    return invalidFile(CONFIG, key, `must be a finite number (got ${show(value)})`);
  return value;
}

/** Reads `rank_pattern` or `alpha_pattern`. */
function patterns(config: AdapterFiles["config"], key: string): ModulePatterns {
  const given = config[key] ?? {};
  if (!isDict(given)) return invalidFile(CONFIG, key, `must be an object (got ${show(given)})`);
  return new ModulePatterns(
    Object.keys(given).map((pattern) => [pattern, numberOf(given, pattern, NaN)]),
    { file: CONFIG, key },
  );
}
