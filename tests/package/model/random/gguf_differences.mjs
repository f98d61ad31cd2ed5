// Keys of GGUF files that this package reads otherwise than llama.cpp.

/**
 * What llama.cpp makes of changed keys: the changes with which this package gives llama.cpp's result. The keys below are
 * read here as the model was trained (docs/models.md), which gguf_as_trained.test.mjs compares with config.json.
 */
export function asLlamaCppReads({ architecture, width, keys }, changes) {
  const unread = keysWithoutEffect(architecture);
  const read = { ...changes, ...Object.fromEntries(unread.map((key) => [key, null])) };
  const scale = changes.logit_scale === undefined ? keys.includes("logit_scale") : changes.logit_scale !== null;
  // its default divides by what the key's value divides by
  return architecture === "minicpm" && !scale ? { ...read, logit_scale: ["f32", 256 / width] } : read;
}

function keysWithoutEffect(architecture) {
  const betas = ["rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"];
  return [
    "rope.scaling.yarn_attn_factor",
    ...(architecture === "mistral3" ? [] : betas),
    ...(["phi3", "exaone4"].includes(architecture) ? ["attention.sliding_window"] : []),
  ];
}

/** Cases that aren't compared: llama.cpp has no value with which this package's way to score groups is its own. */
export const OTHER_GROUPS = { models: ["deepseek_v3"], keys: ["expert_gating_func"] };

/** Keys that this package refuses though llama.cpp runs the file. @type {{ models: string[], keys: string[], why: string }[]} */
export const REFUSED = [
  {
    models: ["nemotron_h", "nemotron_h_moe"],
    keys: ["attention.head_count_kv", "feed_forward_length"],
    why: "all numbers but 0 must be equal; llama.cpp doesn't read that of a layer of another kind",
  },
  {
    models: ["olmoe"],
    keys: ["attention.clamp_kqv"],
    why: "the model was trained with it, and llama.cpp doesn't clip in this architecture",
  },
  {
    models: ["mistral3"],
    keys: ["rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"],
    why: "the fast one must be the larger",
  },
  {
    models: ["qwen3_5", "qwen3_5_moe"],
    keys: ["rope.dimension_sections", "rope.dimension_count"],
    why: "sections must fill the rotated width, as rope_scaling.mrope_section; llama.cpp repeats them",
  },
];
