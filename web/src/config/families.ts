// The model families: a table of what is known from each family's code and not in its files.
import type { MropeLayout, Pairing, RopeScaling, RopeType } from "./types.js";

/** The RoPE of one kind of layer, in a family whose layers differ. */
export interface LayerRope {
  rope_theta: number;
  /** Key of older config.json files with this kind's base. */
  theta_key?: string;
  rope_type?: RopeType;
  partial_rotary_factor?: number;
  head_dim?: number;
  head_dim_key?: string;
  attention_factor?: number;
  /** Whether the `rope_scaling` of older config.json files applies to this kind of layer. */
  scaled?: boolean;
}

/** What is known from a family's code and not in its files. */
export interface Family {
  /** Pairing of the weights in Hugging Face checkpoints. */
  pairing: Pairing;
  /** Pairing of the weights in GGUF files: llama.cpp's converter permutes the q and k rows of some families. */
  gguf_pairing: Pairing;
  // Defaults of the transformers class, for configs that leave them out.
  rope_theta?: number;
  partial_rotary_factor?: number;
  rotary_dim?: number;
  head_dim?: number;
  hidden_size?: number;
  num_attention_heads?: number;
  original_max_position_embeddings?: number;
  /** Default of the class, for configs with neither rope_scaling nor rope_parameters. */
  rope_scaling?: RopeScaling;
  /** Older name of rope_theta; a dot goes into a nested object. */
  theta_key?: string;
  /** Older name of partial_rotary_factor. */
  partial_key?: string;
  /** DeepSeek-style attention: only a separate part of each head is rotated, qk_rope_head_dim wide. */
  mla?: true;
  /** The rotated elements are the last ones of a head, not the first. */
  rotates_last?: true;
  mrope?: { layout: MropeLayout; section?: readonly number[] };
  /** GGUF: files with `rope.dimension_sections` have half-split weights, those without interleaved ones. */
  sections_pair_half?: true;
  /** Scale of the attention logits: a number, or a key of config.json and the power it is raised to. */
  softmax?: number | { key: string; power: number; default: number };
  /** GGUF: models with this many blocks have a softmax scale of 1/√(embedding_length / head_count) (Gemma 27B). */
  wide_softmax_blocks?: number;
  /** RoPE by kind of layer, with transformers' names. */
  layers?: Readonly<Record<string, LayerRope>>;
  /**
   * GGUF: what sliding layers have in llama.cpp. `same`: base and scaling of the other layers. `base`: their base
   * without scaling. `plain`: base 10000 without scaling. `rope.freq_base_swa` replaces the base in each case.
   */
  gguf_sliding?: "same" | "base" | "plain";
  /** GGUF: `rope.dimension_count` is for sliding layers; the others rotate half of it (Step-3.5). */
  gguf_halves_full?: true;
  /** Only sliding layers have RoPE. */
  sliding_only?: true;
  /** Every n-th layer has no RoPE. */
  no_rope_interval?: number;
  /** Llama 4's query temperature on the layers without RoPE. */
  no_rope_temperature?: true;
}

/** A row of the table: the names of some families and what they have in common. */
export interface FamilyRow extends Omit<Family, "pairing" | "gguf_pairing"> {
  /** Values of config.json's `model_type`. */
  hf?: string;
  /** Values of GGUF's `general.architecture`. */
  gguf?: string;
  pairing: Pairing | readonly [hf: Pairing, gguf: Pairing];
}

const PERMUTED = ["half", "interleaved"] as const;
const DEEPSEEK = ["interleaved_to_half", "interleaved"] as const;

const QUERY_SCALAR = { key: "query_pre_attn_scalar", power: -0.5, default: 256 };
const MULTIPLIER = { key: "attention_multiplier", power: 1, default: 1 };

const llama3 = (factor: number): RopeScaling => ({
  rope_type: "llama3",
  factor,
  original_max_position_embeddings: 8192,
  low_freq_factor: 1,
  high_freq_factor: 4,
});
const yarn = (factor: number, original: number, more: RopeScaling): RopeScaling => ({
  rope_type: "yarn",
  factor,
  original_max_position_embeddings: original,
  beta_fast: 32,
  beta_slow: 1,
  ...more,
});
const MISTRAL_SCALES = { mscale: 1, mscale_all_dim: 1, llama_4_scaling_beta: 0.1 };

const FULL = { theta_key: "rope_theta", scaled: true };
const GEMMA: Record<string, LayerRope> = {
  full_attention: { ...FULL, rope_theta: 1e6 },
  sliding_attention: { rope_theta: 1e4, theta_key: "rope_local_base_freq" },
};
const GEMMA_4: Record<string, LayerRope> = {
  full_attention: {
    rope_theta: 1e6,
    rope_type: "proportional",
    partial_rotary_factor: 0.25,
    head_dim: 512,
    head_dim_key: "global_head_dim",
  },
  sliding_attention: { rope_theta: 1e4 },
};
const DEEPSEEK_V4: Record<string, LayerRope> = {
  main: { rope_theta: 1e4, theta_key: "rope_theta", partial_rotary_factor: 0.125 },
  compress: {
    rope_theta: 160000,
    theta_key: "compress_rope_theta",
    partial_rotary_factor: 0.125,
    attention_factor: 1,
    scaled: true,
  },
};
const MODERNBERT: Record<string, LayerRope> = {
  full_attention: { rope_theta: 160000, theta_key: "global_rope_theta", scaled: true },
  sliding_attention: { rope_theta: 1e4, theta_key: "local_rope_theta", scaled: true },
};

/**
 * The families. Sources: transformers 5.23 (`models/`) for pairings, class defaults and kinds of layers; llama.cpp of
 * August 2026 (`llama_model_rope_type`, `src/models/`) for architectures, their pairings and their sliding layers.
 */
// prettier-ignore
export const familyRows = (): readonly FamilyRow[] => [
  // Llama and its relatives: half-split on the Hub, interleaved in GGUF.
  {
    hf: `ministral internlm internlm2 baichuan xverse minicpm deepseek deci nemotron-nas arcee olmo llada arctic
      chameleon bailing_moe`,
    gguf: `deci baichuan starcoder internlm2 minicpm xverse olmo arctic deepseek chameleon bailingmoe
      arcee llada maincoder nanbeige pockettts eagle3`,
    pairing: PERMUTED,
  },
  { hf: "llama mistral", gguf: "llama llama-embed", pairing: PERMUTED, hidden_size: 4096, num_attention_heads: 32 },
  { hf: "internlm3", pairing: PERMUTED, head_dim: 128 },
  { hf: "mixtral", pairing: PERMUTED, rope_theta: 1e6 },
  { hf: "mllama mllama_text_model", pairing: PERMUTED, rope_theta: 5e5 },
  {
    hf: "ministral3", gguf: "mistral3", pairing: PERMUTED, head_dim: 128,
    rope_scaling: yarn(16, 16384, { rope_theta: 1e6, ...MISTRAL_SCALES }),
  },
  { hf: "smollm3", gguf: "smollm3", pairing: PERMUTED, rope_theta: 2e6, no_rope_interval: 4 },
  {
    hf: "granite granitemoe granitemoeshared granitemoehybrid granite_swa granitemoe_swa",
    gguf: "granite granitemoe granitehybrid graniteswitch granite_swa",
    pairing: PERMUTED,
    softmax: MULTIPLIER,
  },
  { hf: "bamba", pairing: PERMUTED, partial_rotary_factor: 0.5 },
  { gguf: "muse-glimmer", pairing: "interleaved", sliding_only: true, gguf_sliding: "base" },

  // Half-split in both.
  {
    hf: `qwen2_moe qwen3_moe Dream falcon RefinedWeb RefinedWebModel falcon_h1 orion codeshell exaone starcoder2
      olmo2 olmoe olmo_hybrid plamo dots1 llada_moe hunyuan hunyuan_v1_dense hunyuan_v1_moe grovemoe mimo jais2 rnd1
      PanguEmbedded aria_text diffllama doge hrm_text`,
    gguf: `qwen2moe qwen3moe dream falcon falcon-h1 dbrx orion codeshell exaone starcoder2 olmoe plamo plamo2 dots1
      llada-moe hunyuan-moe hunyuan-dense grovemoe jais2 rnd1 pangu-embedded bert cogvlm talkie hrm_text`,
    pairing: "half",
  },
  { hf: "qwen2", gguf: "qwen2", pairing: "half", hidden_size: 4096, num_attention_heads: 32 },
  { hf: "dbrx", pairing: "half", theta_key: "attn_config.rope_theta" },
  { hf: "qwen", gguf: "qwen", pairing: "half", theta_key: "rotary_emb_base" },
  { hf: "qwen3", gguf: "qwen3", pairing: "half", head_dim: 128 },
  { hf: "qwen3_next", gguf: "qwen3next", pairing: "half", head_dim: 256, partial_rotary_factor: 0.25 },
  { hf: "seed_oss", gguf: "seed_oss", pairing: "half", head_dim: 128 },
  { hf: "apertus", gguf: "apertus", pairing: "half", rope_theta: 1.2e7, rope_scaling: llama3(8) },
  { hf: "cwm", pairing: "half", rope_theta: 1e6, head_dim: 128, rope_scaling: llama3(16) },
  { hf: "solar_open", pairing: "half", rope_theta: 1e6, head_dim: 128 },
  { hf: "bitnet flex_olmo", gguf: "bitnet", pairing: "half", rope_theta: 5e5 },
  { hf: "hy_v3", gguf: "hy_v3", pairing: "half", rope_theta: 11158840, head_dim: 128 },
  { hf: "lfm2 lfm2_moe", gguf: "lfm2 lfm2moe", pairing: "half", rope_theta: 1e6 },
  { hf: "phi phi-msft", gguf: "phi2", pairing: "half", partial_rotary_factor: 0.5 },
  { hf: "phi3 phi3_v phi4mm phi4_multimodal", gguf: "phi3", pairing: "half", original_max_position_embeddings: 4096 },
  { hf: "phimoe", gguf: "phimoe", pairing: "half", rope_theta: 1e6 },
  {
    hf: "gpt_neox", gguf: "gptneox", pairing: "half",
    partial_rotary_factor: 0.25, theta_key: "rotary_emb_base", partial_key: "rotary_pct",
  },
  { hf: "gpt_neox_japanese", pairing: "half", theta_key: "rotary_emb_base", partial_key: "rotary_pct" },
  {
    hf: "stablelm stablelm_epoch", gguf: "stablelm", pairing: "half",
    partial_rotary_factor: 0.25, partial_key: "rope_pct",
  },
  { hf: "persimmon recurrent_gemma", pairing: "half", partial_rotary_factor: 0.5 },
  { hf: "nemotron", gguf: "nemotron", pairing: "half", partial_rotary_factor: 0.5, partial_key: "rotary_percent" },
  { hf: "bailing_moe_v2", gguf: "bailingmoe2", pairing: "half", partial_rotary_factor: 0.5 },
  { hf: "openelm", gguf: "openelm", pairing: "half", theta_key: "rope_freq_constant" },
  { hf: "minimax", pairing: "half", rope_theta: 1e6 },
  { hf: "minimax_text_01 minimax_m1 MiniMaxText01 MiniMaxM1", gguf: "minimax-01", pairing: "half" },
  { hf: "minimax_m2", gguf: "minimax-m2", pairing: "half", rope_theta: 5e6, head_dim: 128 },
  { hf: "minimax_m3_vl_text", gguf: "minimax-m3", pairing: "half", rope_theta: 5e6, head_dim: 128, rotary_dim: 64 },
  {
    hf: "gpt_oss", gguf: "gpt-oss", pairing: "half", rope_theta: 150000, head_dim: 64, gguf_sliding: "same",
    rope_scaling: yarn(32, 4096, { truncate: false }),
  },
  { gguf: "smallthinker", pairing: "half", gguf_sliding: "same", no_rope_interval: 4 },
  { gguf: "spark2_5", pairing: "half", gguf_sliding: "same" },
  { gguf: "grok", pairing: "half" },
  { hf: "gemma", gguf: "gemma", pairing: "half", head_dim: 256 },
  {
    hf: "gemma2 vaultgemma t5_gemma_module", gguf: "gemma2", pairing: "half",
    head_dim: 256, softmax: QUERY_SCALAR, wide_softmax_blocks: 46, gguf_sliding: "same",
  },
  { hf: "eurobert", gguf: "eurobert", pairing: "half" },
  { hf: "gte", pairing: "half", rope_theta: 160000 },
  { hf: "jina_embeddings_v3", gguf: "jina-bert-v3", pairing: "half", rope_theta: 20000, theta_key: "rotary_emb_base" },
  {
    hf: "nomic_bert", gguf: "nomic-bert nomic-bert-moe", pairing: "half",
    rope_theta: 1000, theta_key: "rotary_emb_base", partial_key: "rotary_emb_fraction",
  },

  // Interleaved in both.
  { hf: "neobert roformer", gguf: "neo-bert", pairing: "interleaved" },
  { hf: "gptj codegen", gguf: "gptj", pairing: "interleaved", rotary_dim: 64 },
  { hf: "helium", pairing: "interleaved", rope_theta: 1e5, head_dim: 128 },
  { hf: "moonshine", pairing: "interleaved", partial_rotary_factor: 0.9 },
  { hf: "cohere", gguf: "command-r", pairing: "interleaved", rope_theta: 5e5 },
  { hf: "cohere2", gguf: "cohere2", pairing: "interleaved", sliding_only: true, gguf_sliding: "same" },
  {
    hf: "cohere2_moe", gguf: "cohere2moe", pairing: "interleaved",
    head_dim: 128, sliding_only: true, gguf_sliding: "same",
  },
  { hf: "chatglm", gguf: "chatglm", pairing: "interleaved", partial_rotary_factor: 0.5 },
  {
    hf: "glm glm4", gguf: "glm4", pairing: "interleaved",
    head_dim: 128, partial_rotary_factor: 0.5, mrope: { layout: "chunked" }, sections_pair_half: true,
  },
  {
    hf: "ernie4_5", gguf: "ernie4_5 ernie4_5-moe", pairing: "interleaved",
    rope_theta: 5e5, head_dim: 128, mrope: { layout: "ernie" },
  },
  { hf: "ernie4_5_moe", pairing: "interleaved", rope_theta: 5e5 },
  {
    hf: "llama4 llama4_text", gguf: "llama4", pairing: "interleaved",
    rope_theta: 5e5, head_dim: 128, no_rope_interval: 4, no_rope_temperature: true, gguf_sliding: "same",
  },

  // DeepSeek-style attention: later versions of transformers read interleaved rows and write half-split ones.
  { hf: "deepseek_v2", gguf: "deepseek2", pairing: "interleaved", mla: true },
  {
    hf: "deepseek_v3 deepseek_v32 kimi_k2 kimi_k25 kimi_vl axk1 axk2 glm4_moe_lite glm_moe_dsa youtu",
    gguf: "deepseek32 glm-dsa",
    pairing: DEEPSEEK, mla: true,
  },
  {
    hf: "mistral4", gguf: "mistral4", pairing: DEEPSEEK, mla: true,
    rope_scaling: yarn(128, 8192, MISTRAL_SCALES),
  },
  { hf: "bailing_hybrid", pairing: DEEPSEEK, mla: true, rope_theta: 6e6 },
  { hf: "longcat_flash", pairing: DEEPSEEK, mla: true, rope_theta: 1e7 },
  { hf: "hy_v4", gguf: "hy_v4", pairing: PERMUTED, mla: true },
  { hf: "minicpm3", gguf: "minicpm3", pairing: "half", mla: true },
  { gguf: "plm", pairing: "interleaved", mla: true },
  { gguf: "dots3note", pairing: "interleaved", mla: true, gguf_sliding: "plain" },
  { gguf: "bailingmoe3", pairing: "interleaved", mla: true, mrope: { layout: "chunked" }, sections_pair_half: true },
  { hf: "deepseek_ocr2_text unlimited_ocr_text", gguf: "deepseek2-ocr", pairing: "half" },
  {
    hf: "deepseek_v4", gguf: "deepseek4", pairing: "interleaved",
    head_dim: 512, rotates_last: true, layers: DEEPSEEK_V4,
  },

  // Several position axes.
  {
    hf: "qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text", gguf: "qwen2vl", pairing: "half",
    rope_theta: 1e6, mrope: { layout: "chunked", section: [16, 24, 24] },
  },
  {
    hf: "paddleocr_vl paddleocr_vl_text", gguf: "paddleocr", pairing: "half",
    rope_theta: 5e5, head_dim: 128, mrope: { layout: "chunked", section: [16, 24, 24] },
  },
  {
    hf: "qwen3_vl qwen3_vl_text", gguf: "qwen3vl qwen3vlmoe qwen3tts", pairing: "half",
    rope_theta: 5e5, head_dim: 128, mrope: { layout: "interleaved", section: [24, 20, 20] },
  },
  {
    hf: "qwen3_vl_moe qwen3_vl_moe_text", pairing: "half",
    rope_theta: 5e5, mrope: { layout: "interleaved", section: [24, 20, 20] },
  },
  {
    hf: "qwen3_omni_moe_text", pairing: "half",
    rope_theta: 1e6, mrope: { layout: "interleaved", section: [24, 20, 20] },
  },
  {
    hf: "qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text", gguf: "qwen35 qwen35moe qwen4exp", pairing: "half",
    head_dim: 256, partial_rotary_factor: 0.25, mrope: { layout: "interleaved", section: [11, 11, 10] },
  },
  {
    hf: "glm4v glm4v_text glm46v glm_ocr glm_ocr_text", pairing: "interleaved",
    mrope: { layout: "chunked", section: [8, 12, 12] },
  },
  { hf: "glm4_moe", gguf: "glm4moe", pairing: "half", partial_rotary_factor: 0.5, mrope: { layout: "chunked" } },
  {
    hf: "glm4v_moe glm4v_moe_text", pairing: "half",
    partial_rotary_factor: 0.5, mrope: { layout: "chunked", section: [8, 12, 12] },
  },
  {
    hf: "ernie4_5_vl_moe ernie4_5_vl_moe_text ernie4_5_moe_vl", pairing: "interleaved",
    rope_theta: 5e5, mrope: { layout: "ernie", section: [22, 22, 20] },
  },
  { hf: "hunyuan_vl hunyuan_vl_text", gguf: "hunyuan_vl", pairing: "half", mrope: { layout: "chunked" } },

  // Layers of different kinds.
  {
    hf: "gemma3 gemma3_text t5gemma2_text t5gemma2_decoder", gguf: "gemma3 gemma-embedding", pairing: "half",
    head_dim: 256, softmax: QUERY_SCALAR, wide_softmax_blocks: 62, layers: GEMMA, gguf_sliding: "plain",
  },
  {
    hf: "gemma3n gemma3n_text", gguf: "gemma3n", pairing: "half",
    head_dim: 256, softmax: 1, layers: GEMMA, gguf_sliding: "plain",
  },
  {
    hf: "gemma4 gemma4_text gemma4_unified gemma4_unified_text diffusion_gemma_text", gguf: "gemma4 gemma4-assistant",
    pairing: "half", head_dim: 256, softmax: 1, layers: GEMMA_4, gguf_sliding: "plain",
  },
  {
    hf: "modernbert modernbert-decoder", gguf: "modern-bert", pairing: "half",
    layers: MODERNBERT, gguf_sliding: "plain",
  },
  {
    hf: "olmo3", gguf: "olmo2", pairing: "half", gguf_sliding: "base",
    layers: {
      full_attention: { ...FULL, rope_theta: 5e5 },
      sliding_attention: { rope_theta: 5e5, theta_key: "rope_theta" },
    },
  },
  {
    hf: "laguna", gguf: "laguna", pairing: "half", head_dim: 128, gguf_sliding: "base",
    layers: {
      full_attention: { rope_theta: 5e5, partial_rotary_factor: 0.5, scaled: true },
      sliding_attention: { rope_theta: 1e4, partial_rotary_factor: 1 },
    },
  },
  {
    hf: "mellum", gguf: "mellum", pairing: "half", head_dim: 128, gguf_sliding: "base",
    layers: { full_attention: { rope_theta: 5e5, scaled: true }, sliding_attention: { rope_theta: 1e4 } },
  },
  {
    hf: "mimo_v2_flash", gguf: "mimo2", pairing: "half",
    head_dim: 192, partial_rotary_factor: 0.334, gguf_sliding: "plain",
    layers: {
      full_attention: { ...FULL, rope_theta: 5e6 },
      sliding_attention: { rope_theta: 1e4, theta_key: "swa_rope_theta" },
    },
  },
  {
    hf: "step3p5 step3p7", gguf: "step35", pairing: "half",
    head_dim: 128, gguf_sliding: "plain", gguf_halves_full: true,
    layers: {
      full_attention: { ...FULL, rope_theta: 1e4 },
      sliding_attention: { rope_theta: 1e4, theta_key: "rope_theta" },
    },
  },
  { gguf: "plamo3", pairing: "half", gguf_sliding: "plain" },
  // RoPE on the sliding layers only.
  {
    hf: "exaone4 exaone4_5 exaone4_5_text exaone_moe", gguf: "exaone4 exaone-moe", pairing: "half",
    sliding_only: true, gguf_sliding: "same",
  },
  { hf: "afmoe", gguf: "afmoe", pairing: "half", head_dim: 128, sliding_only: true, gguf_sliding: "same" },
  { gguf: "maple", pairing: "half", sliding_only: true, gguf_sliding: "same" },
];

/** Families without RoPE. */
export const WITHOUT_ROPE = {
  hf: `gpt2 gpt_neo gpt_bigcode bloom mpt opt t5 mt5 umt5 bert roberta mamba mamba2 jamba nemotron_h kimi_linear rwkv
    rwkv5 rwkv6 rwkv7`,
  gguf: `gpt2 mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 t5encoder jais rwkv6 rwkv6qwen2 rwkv7 arwkv7
    wavtokenizer-dec nemotron_h nemotron_h_moe kimi-linear kimi-k3 glm5-next clip`,
};
