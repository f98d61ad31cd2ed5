// Reads the lines of a recipe again, as each system does, and compares the frequencies with those of the recommended config.
import { type Dict, isDict } from "../../core/base/dict.js";
import { RopewalkError } from "../../core/base/errors.js";
import type { RopeOverrides } from "../../core/config/overrides.js";
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import { largestDistance } from "../../core/config/position_map.js";
import type { RopeConfig, RopeType } from "../../core/config/types.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import { configRopes } from "../../runtime/model/plan/config_ropes.js";
import type { RecipeBlock } from "./diagnosis.js";
import { tokens } from "./facts.js";
import { planBy, systemNamed, SYSTEMS } from "./known_systems.js";
import { serves } from "./lengths.js";
import { compare, differenceText, planIn } from "./plans.js";
import type { Draft, RopeOrder } from "./recipe.js";

/** The block with the result of its check. */
export function checkBlock(rw: Ropewalk, draft: Draft, order: RopeOrder): RecipeBlock {
  // Ropewalk's own rules are those of transformers
  const system = systemNamed(draft.system) ?? SYSTEMS[0]!;
  try {
    const { configs, length } = readBlock(draft, order);
    const main = configs[order.groups.indexOf(order.main)]!;
    // a map that isn't in the recommended config is there instead of its scaling
    if (main.position_map && !order.extension.config.position_map) {
      const text = `checked: these lines keep all distances up to ${tokens(largestDistance(main.position_map, length))}`;
      return { ...draft, checked: { same: serves(main, length), text } };
    }
    const differences = order.groups.map((_, i) =>
      compare(planBy(rw, system, configs[i]!, length), planIn(rw, order.extension.configs[i]!, "hf", length)),
    );
    const worst = differences.find(({ same }) => !same);
    if (worst !== undefined) {
      const text = `${draft.system} can't do the same: compared with the recommended config, ${differenceText(worst)}`;
      return { ...draft, checked: { same: false, text } };
    }
    const { max_length } = planBy(rw, system, main, length);
    if (system.compat === "vllm" && max_length > 0 && max_length < length)
      return {
        ...draft,
        checked: { same: false, text: `vLLM serves at most ${tokens(max_length)} tokens with these lines` },
      };
    const text = "checked: these lines give the recommended frequencies and attention factor";
    return { ...draft, checked: { same: true, text } };
  } catch (error) {
    if (!(error instanceof RopewalkError)) throw error;
    return { ...draft, checked: { same: false, text: `not checked: ${error.message}` } };
  }
}

/** The configs of all groups, and the length, that a system has after reading a block. */
function readBlock(
  { text, language }: Draft,
  order: RopeOrder,
): { configs: readonly Readonly<RopeConfig>[]; length: number } {
  if (language === "json") return { configs: withLines(order, JSON.parse(text) as Dict), length: order.length };
  if (language === "js") {
    const options = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)) as {
      contextLength: number;
      rope?: RopeOverrides;
    };
    return { configs: withOverrides(order, options.rope ?? {}), length: options.contextLength };
  }
  if (language === "python") return { configs: order.groups.map(({ config }) => config), length: order.length };
  const flags = readFlags(text);
  const length = Number(
    flags.get("-c") ??
      flags.get("--context") ??
      flags.get("--max-model-len") ??
      flags.get("--context-length") ??
      order.length,
  );
  const overridden = flags.get("--hf-overrides") ?? flags.get("--json-model-override-args");
  if (overridden !== undefined) return { configs: withLines(order, JSON.parse(overridden) as Dict), length };
  const type = flags.get("--rope-scaling") ?? flags.get("--rope-type");
  if (type === undefined) return { configs: order.groups.map(({ config }) => config), length };
  const factor = Number(flags.get("--rope-scale") ?? flags.get("--factor"));
  const original = Number(flags.get("--yarn-orig-ctx") ?? flags.get("--trained-length"));
  const scaling = { rope_type: type as RopeType, factor, original_max_position_embeddings: original, replace: true };
  return { configs: withOverrides(order, { rope_scaling: scaling }), length };
}

/** The words of a command line by the flag before them. */
function readFlags(text: string): Map<string, string> {
  const words = [...text.replaceAll("\\\n", " ").matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, word]) => quoted ?? word!,
  );
  return new Map(words.flatMap((word, i) => (word.startsWith("-") ? [[word, words[i + 1] ?? ""] as const] : [])));
}

/** The file with some keys replaced. rope_scaling and rope_parameters are two names of one thing. */
function withLines({ facts, groups }: RopeOrder, lines: Dict): Readonly<RopeConfig>[] {
  const merge = (file: Dict, lines: Dict, path: string): Dict => {
    const merged: Record<string, unknown> = { ...file };
    for (const [key, value] of Object.entries(lines)) {
      const isPart = path + key === facts.prefix.slice(0, (path + key).length) && isDict(file[key]) && isDict(value);
      merged[key] = isPart ? merge(file[key] as Dict, value, `${path}${key}.`) : value;
    }
    if ("rope_parameters" in lines) delete merged["rope_scaling"];
    if ("rope_scaling" in lines) delete merged["rope_parameters"];
    return merged;
  };
  const { ropes } = configRopes(merge(facts.source, lines, ""));
  return groups.map(({ kind, config }) => ropes.find((rope) => (rope.kind ?? null) === kind)?.rope ?? config);
}

function withOverrides({ groups, main }: RopeOrder, overrides: RopeOverrides): Readonly<RopeConfig>[] {
  return groups.map(({ kind, config }) => (kind === main.kind ? overrideRopeConfig(config, overrides) : config));
}
