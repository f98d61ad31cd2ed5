// Keys of GGUF files that this package reads otherwise than llama.cpp, by tiny model. random/gguf_keys.test.mjs fails if one of them no longer differs.

/** @type {{ models: string[], keys: string[], llamaCpp: string, here: string }[]} */
export const DIFFERENCES = [
  {
    models: ["gpt_oss", "qwen2"],
    keys: ["rope.scaling.yarn_beta_slow"],
    llamaCpp: "reads it for Mistral and Grok alone",
    here: "read as what the model was trained with",
  },
  {
    models: ["gpt_oss", "mellum", "olmo3", "qwen2"],
    keys: ["rope.scaling.yarn_log_multiplier"],
    llamaCpp: "reads it for DeepSeek's attention and Mistral alone",
    here: "read as what the model was trained with",
  },
  {
    models: ["cohere"],
    keys: ["rope.scaling.yarn_beta_fast"],
    llamaCpp: "doesn't read it",
    here: "refused if it is below rope.scaling.yarn_beta_slow",
  },
  {
    models: ["phi3", "phi4_mini"],
    keys: ["attention.sliding_window"],
    llamaCpp: "leaves the window out",
    here: "the window of the model, as in transformers",
  },
  {
    models: ["deepseek_v3"],
    keys: ["expert_gating_func"],
    llamaCpp: "scores a group by its two largest weights in files without the key, which are of DeepSeek-V2",
    here: "by its largest weight, as in DeepSeek-V2's own code",
  },
  {
    models: ["minicpm"],
    keys: ["logit_scale"],
    llamaCpp: "multiplies logits by hidden size / 256 squared, as its default divides where the key's value multiplies",
    here: "old files without the key have the logits of the model",
  },
  {
    models: ["nemotron_h"],
    keys: ["attention.head_count_kv"],
    llamaCpp: "doesn't read the number of a layer without attention",
    here: "refused unless all numbers but 0 are equal",
  },
  {
    models: ["olmoe"],
    keys: ["attention.clamp_kqv"],
    llamaCpp: "doesn't clip in this architecture",
    here: "refused, as the model was trained with it",
  },
  {
    models: ["qwen3_5", "qwen3_5_moe"],
    keys: ["rope.dimension_sections", "rope.dimension_count"],
    llamaCpp: "repeats sections that don't fill the rotated width",
    here: "refused as rope_scaling.mrope_section",
  },
];
