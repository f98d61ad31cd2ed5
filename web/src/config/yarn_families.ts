/**
 * Families with YaRN rules of their own, in the order of the codes handed to wasm.
 *
 * `deepseek`: the softmax scale is multiplied by g(factor, mscale_all_dim)², and llama.cpp's loader reads no betas.
 * `mistral`, `grok`: the two families whose llama.cpp loaders do read the betas. `other`: all the rest.
 */
export const YARN_FAMILIES = ["other", "deepseek", "mistral", "grok"] as const;
/** One of {@link YARN_FAMILIES}. */
export type YarnFamily = (typeof YARN_FAMILIES)[number];

/** `model_type` and `general.architecture` alike. Apart from the table of families, so that whoever brings a config needs not bring the table. */
const NAMES: Record<Exclude<YarnFamily, "other">, string> = {
  deepseek: `deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 kimi_k25 kimi_vl axk1 axk2 glm4_moe_lite glm_moe_dsa youtu mistral4
    bailing_hybrid longcat_flash hy_v4 minicpm3 deepseek2 deepseek32 glm-dsa`,
  mistral: "ministral3 mistral3",
  grok: "grok",
};

/** Which YaRN rules a `model_type` or an architecture follows; `other` for names this package does not know. */
export function yarnFamilyOf(name: string | undefined): YarnFamily {
  const found = YARN_FAMILIES.find(
    (family) => family !== "other" && name !== undefined && NAMES[family].split(/\s+/).includes(name),
  );
  return found ?? "other";
}
