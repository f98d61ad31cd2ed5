// Which families have their own YaRN rules. Separate from families.ts, so that apps with their own config don't load
// that table.

/**
 * Families with their own YaRN rules, in the order of Family in src/rope/config.h.
 *
 * - `deepseek`: the softmax scale is multiplied by (0.1 · mscale_all_dim · ln(factor) + 1)², and llama.cpp ignores
 *   betas.
 * - `mistral` (and Laguna, DeepSeek-V4 and K2 Horizon), `grok`: the only families whose betas llama.cpp reads.
 * - `other`: all other families.
 */
export const YARN_FAMILIES = ["other", "deepseek", "mistral", "grok"] as const;
/** One of {@link YARN_FAMILIES}. */
export type YarnFamily = (typeof YARN_FAMILIES)[number];

/** Values of `model_type` and of `general.architecture`. */
const NAMES: Record<Exclude<YarnFamily, "other">, string> = {
  deepseek: `deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 kimi_k25 kimi_vl axk1 axk2 glm4_moe_lite glm_moe_dsa youtu
    mistral4 bailing_hybrid longcat_flash hy_v4 minicpm3 deepseek2 deepseek32 glm-dsa`,
  mistral: "ministral3 mistral3 laguna deepseek_v4 deepseek4 k2_horizon k2-horizon",
  grok: "grok",
};

/** The YaRN rules of a `model_type` or an architecture; `other` for unknown names. */
export function yarnFamilyOf(name: string | undefined): YarnFamily {
  const found = YARN_FAMILIES.find(
    (family) => family !== "other" && name !== undefined && NAMES[family].split(/\s+/).includes(name),
  );
  return found ?? "other";
}
