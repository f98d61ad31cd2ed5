// The model families whose layers share one RoPE: a table of what is known from their code and not in their files.
import { type FamilyRow, HEAD_128, paired, PERMUTED, QUERY_SCALAR } from "./family.js";
import type { RopeScaling } from "./types.js";

const DEEPSEEK = ["interleaved_to_half", "interleaved"] as const;

const CHUNKED = { layout: "chunked" } as const;
const QWEN_2 = { layout: "chunked", section: [16, 24, 24] } as const;
const QWEN_3 = { layout: "interleaved", section: [24, 20, 20] } as const;
const QWEN_3_5 = { layout: "interleaved", section: [11, 11, 10] } as const;
const GLM_V = { layout: "chunked", section: [8, 12, 12] } as const;

const multiplier = (value?: number) => ({
  key: "attention_multiplier",
  power: 1,
  ...(value !== undefined && { default: value }),
});

// Where the class has a scaling of its own, its base is there too and wins over a rope_theta of the file.
const llama3 = (rope_theta: number, factor: number, original = 8192, low = 1, high = 4): RopeScaling => ({
  rope_type: "llama3",
  rope_theta,
  factor,
  original_max_position_embeddings: original,
  low_freq_factor: low,
  high_freq_factor: high,
});
const yarn = (factor: number, original: number, more: RopeScaling): RopeScaling => ({
  rope_type: "yarn",
  factor,
  original_max_position_embeddings: original,
  beta_fast: 32,
  beta_slow: 1,
  ...more,
});
const NO_ROPE_KEYS = "rope_scaling rope_parameters rope_theta";
const MISTRAL_SCALES = { mscale: 1, mscale_all_dim: 1, llama_4_scaling_beta: 0.1 };

/**
 * Sources: transformers 5.24 (`models/`) for pairings and class defaults, which tests/golden/family_defaults.json
 * compares; llama.cpp of August 2026 (`llama_model_rope_type`, `src/models/`) for architectures.
 */
// prettier-ignore
export const sharedRopeRows = (): readonly FamilyRow[] => [
  // Llama and its relatives: half-split on the Hub, interleaved in GGUF.
  ...paired(PERMUTED, [
    {
      hf:
        "ministral internlm internlm2 baichuan xverse minicpm deepseek deci nemotron-nas arcee olmo llada arctic " +
        "bailing_moe iquestcoder",
      gguf:
        "deci baichuan starcoder internlm2 minicpm xverse olmo arctic deepseek bailingmoe " +
        "arcee llada maincoder nanbeige pockettts eagle3",
    },
    { hf: "llama mistral", gguf: "llama llama-embed", hidden_size: 4096, num_attention_heads: 32 },
    { both: "chameleon", derives_head_dim: true },
    { hf: "internlm3", ...HEAD_128 },
    { hf: "mixtral", rope_theta: 1e6 },
    { hf: "mllama mllama_text_model", rope_theta: 5e5, derives_head_dim: true },
    {
      hf: "ministral3", gguf: "mistral3", ...HEAD_128,
      rope_scaling: yarn(16, 16384, { rope_theta: 1e6, ...MISTRAL_SCALES }),
    },
    { both: "smollm3", rope_theta: 2e6, no_rope_interval: 4 },
    {
      hf: "granite granitemoe granitemoeshared granite_swa granitemoe_swa granite4_vision_text",
      gguf: "granite granitemoe granitehybrid graniteswitch granite_swa",
      softmax: multiplier(1),
    },
    { hf: "granitemoehybrid", softmax: multiplier(1), only_if: ["position_embedding_type", "rope"] },
    { hf: "bamba", partial_rotary_factor: 0.5, share_in_parameters: true },
    // What Voxtral sets in the config of its text model.
    { hf: "voxtral/llama", rope_theta: 1e8, ...HEAD_128 },
    {
      hf: "glmasr/llama", hidden_size: 2048, num_attention_heads: 16, max_position_embeddings: 8192,
      rope_scaling: { rope_theta: 1e4 },
    },
    { both: "hy_v4", mla: true },
  ]),
  // Half-split in both.
  ...paired("half", [
    {
      hf:
        "qwen2_moe qwen3_moe Dream falcon RefinedWeb RefinedWebModel falcon_h1 orion codeshell starcoder2 " +
        "olmo2 olmoe plamo dots1 llada_moe hunyuan hunyuan_v1_dense hunyuan_v1_moe grovemoe mimo jais2 rnd1 " +
        "PanguEmbedded aria_text diffllama doge deepseek_ocr2_encoder gradium_phonon_tts " +
        "kyutai_speech_to_text lasr_encoder mimi mimi_decoder mimi_encoder moshi pocket_tts pocket_tts_audio_tokenizer " +
        "pocket_tts_audio_tokenizer_decoder pocket_tts_audio_tokenizer_encoder voxtral_realtime_text esmc eurobert new",
      gguf:
        "qwen2moe qwen3moe dream falcon falcon-h1 dbrx orion codeshell starcoder2 olmoe plamo plamo2 dots1 " +
        "llada-moe hunyuan-moe hunyuan-dense grovemoe jais2 rnd1 pangu-embedded cogvlm talkie hrm_text eurobert grok",
    },
    { hf: "dia_decoder dia_encoder", ...HEAD_128, softmax: 1 },
    { hf: "idefics deepseek_ocr2_text unlimited_ocr_text", gguf: "deepseek2-ocr", derives_head_dim: true },
    { hf: "olmo_hybrid", no_rope_if_theta_null: true },
    { hf: "hyperclovax", softmax: multiplier() },
    { hf: "jetmoe", ...HEAD_128, head_dim_key: "kv_channels" },
    { hf: "neucodec xcodec2 voxtral_realtime_encoder", head_dim: 64 },
    { hf: "timesfm2_5", head_dim: 80 },
    { hf: "voxtral_realtime/voxtral_realtime_text", rope_theta: 1e6, ...HEAD_128 },
    { hf: "muse_glimmer_assistant", rope_theta: 5e5, ...HEAD_128 },
    { hf: "granite_docling_text", softmax: multiplier(0.015625) },
    { hf: "higgs_audio_v2", ...HEAD_128, rope_scaling: llama3(5e5, 32, 1024, 0.125, 0.5) },
    { hf: "nanochat", reversed: true },
    {
      hf: "zamba2", head_dim_key: "attention_head_dim", head_dim_times: 2, softmax: { share: 0.5 },
      only_if: ["use_mem_rope", true],
    },
    { hf: "esm", derives_head_dim: true, unread: "rope_scaling rope_parameters", only_if: ["position_embedding_type", "rotary"] },
    { both: "qwen2", hidden_size: 4096, num_attention_heads: 32 },
    { hf: "dbrx", derives_head_dim: true, theta_key: "attn_config.rope_theta" },
    { both: "qwen", theta_key: "rotary_emb_base" },
    {
      hf: "qwen3 seed_oss hrm_text molmo2_text qwen3_omni_moe_talker_code_predictor", gguf: "qwen3 seed_oss",
      ...HEAD_128,
    },
    { hf: "qwen3_next", gguf: "qwen3next", head_dim: 256, partial_rotary_factor: 0.25 },
    { hf: "apertus apertus1p5_text", gguf: "apertus", rope_theta: 1.2e7, rope_scaling: llama3(1.2e7, 8) },
    { hf: "cwm", rope_theta: 1e6, ...HEAD_128, rope_scaling: llama3(1e6, 16) },
    { hf: "solar_open", rope_theta: 1e6, ...HEAD_128, reads_partial: true },
    {
      hf: "bitnet flex_olmo exaone csm csm_depth_decoder_model evolla EvollaModel", gguf: "bitnet exaone",
      rope_theta: 5e5,
    },
    { both: "hy_v3", rope_theta: 11158840, ...HEAD_128 },
    { hf: "lfm2 lfm2_moe phimoe minimax emu3_text_model", gguf: "lfm2 lfm2moe phimoe", rope_theta: 1e6 },
    {
      hf: "phi phi-msft bailing_moe_v2 recurrent_gemma glmasr_encoder", gguf: "phi2 bailingmoe2",
      partial_rotary_factor: 0.5,
    },
    { hf: "phi3 phi3_v phi4mm phi4_multimodal", gguf: "phi3", reads_partial: true, original_max_position_embeddings: 4096 },
    {
      hf: "gpt_neox", gguf: "gptneox",
      derives_head_dim: true,
      partial_rotary_factor: 0.25, theta_key: "rotary_emb_base", partial_key: "rotary_pct",
      share_in_parameters: true, unread: "rope_theta",
    },
    {
      hf: "gpt_neox_japanese", derives_head_dim: true, reads_partial: true, share_in_parameters: true,
      theta_key: "rotary_emb_base", partial_key: "rotary_pct", unread: "rope_theta",
    },
    {
      hf: "stablelm stablelm_epoch", gguf: "stablelm",
      derives_head_dim: true, partial_rotary_factor: 0.25, partial_key: "rope_pct",
    },
    { hf: "persimmon dots3_note_audio_encoder", derives_head_dim: true, partial_rotary_factor: 0.5 },
    {
      hf: "nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp",
      reads_partial: true, rope_scaling: { rope_theta: 1e4, partial_rotary_factor: 0.5 },
    },
    { hf: "nemotron3_diarization_audio", reads_partial: true },
    { both: "nemotron", partial_rotary_factor: 0.5, partial_key: "rotary_percent" },
    { both: "openelm", theta_key: "rope_freq_constant" },
    { hf: "minimax_text_01 minimax_m1 MiniMaxText01 MiniMaxM1", gguf: "minimax-01", reads_rotary_dim: true },
    { hf: "minimax_m2", gguf: "minimax-m2", rope_theta: 5e6, ...HEAD_128, reads_partial: true, reads_rotary_dim: true },
    { hf: "minimax_m3_vl_text", gguf: "minimax-m3", rope_theta: 5e6, ...HEAD_128, reads_partial: true, ignores_rotary_dim: true },
    {
      hf: "gpt_oss", gguf: "gpt-oss", rope_theta: 150000, head_dim: 64, gguf_sliding: "same",
      rope_scaling: yarn(32, 4096, { truncate: false }),
    },
    { gguf: "smallthinker", gguf_sliding: "same", no_rope_interval: 4 },
    { gguf: "spark2_5", gguf_sliding: "same" },
    { gguf: "plamo3", gguf_sliding: "plain" },
    { both: "gemma", head_dim: 256 },
    {
      hf: "gemma2 vaultgemma t5_gemma_module", gguf: "gemma2",
      head_dim: 256, softmax: QUERY_SCALAR, wide_softmax_blocks: 46, gguf_sliding: "same",
    },
    { hf: "gte", rope_theta: 160000 },
    { hf: "jina_embeddings_v3", gguf: "jina-bert-v3", rope_theta: 20000, theta_key: "rotary_emb_base" },
    {
      hf: "nomic_bert", gguf: "nomic-bert nomic-bert-moe",
      rope_theta: 1000, theta_key: "rotary_emb_base", partial_key: "rotary_emb_fraction",
    },
    { both: "minicpm3", mla: true },
    // Several position axes.
    {
      hf: "qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", gguf: "qwen2vl",
      derives_head_dim: true, rope_theta: 1e6, mrope: QWEN_2,
    },
    { hf: "qwen2_5_omni_text", rope_theta: 1e6, mrope: QWEN_2 },
    { hf: "qwen2_5_omni_talker", rope_theta: 1e6, ...HEAD_128, mrope: QWEN_2 },
    { hf: "paddleocr_vl paddleocr_vl_text", gguf: "paddleocr", rope_theta: 5e5, ...HEAD_128, mrope: QWEN_2 },
    {
      hf: "qwen3_vl qwen3_vl_text", gguf: "qwen3vl qwen3vlmoe qwen3tts",
      rope_theta: 5e5, ...HEAD_128, mrope: QWEN_3,
    },
    { hf: "qwen3_vl_moe qwen3_vl_moe_text", rope_theta: 5e5, mrope: QWEN_3 },
    { hf: "qwen3_omni_moe_text qwen3_omni_moe_talker_text", rope_theta: 1e6, mrope: QWEN_3 },
    { hf: "cosmos3_edge_text", ...HEAD_128, rope_scaling: { rope_theta: 1e8 }, mrope: QWEN_3 },
    {
      hf: "qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text", gguf: "qwen35 qwen35moe qwen4exp",
      head_dim: 256, partial_rotary_factor: 0.25, mrope: QWEN_3_5,
    },
    { hf: "cohere_compass_text", needs_rope_parameters: true, mrope: QWEN_3 },
    { hf: "qwen4_exp_text", head_dim: 256, reads_partial: true, mrope: QWEN_3_5 },
    { hf: "glm_image_text", reads_partial: true, mrope: GLM_V },
    { hf: "glm4_moe", gguf: "glm4moe", partial_rotary_factor: 0.5, mrope: CHUNKED },
    { hf: "glm4v_moe glm4v_moe_text", partial_rotary_factor: 0.5, mrope: GLM_V },
    { hf: "hunyuan_vl hunyuan_vl_text", gguf: "hunyuan_vl", mrope: CHUNKED },
  ]),
  // Interleaved in both.
  ...paired("interleaved", [
    {
      hf: "openai_privacy_filter", rope_theta: 150000, head_dim: 64,
      rope_scaling: yarn(32, 4096, { truncate: false }),
    },
    { hf: "hy_v4_vl_text", mla: true, mrope: { layout: "interleaved", section: [12, 10, 10] } },
    { hf: "neobert", gguf: "neo-bert" },
    { hf: "roformer", derives_head_dim: true, unread: NO_ROPE_KEYS },
    { hf: "gptj codegen", gguf: "gptj", derives_head_dim: true, unread: NO_ROPE_KEYS, rotary_dim: 64 },
    { hf: "helium", rope_theta: 1e5, ...HEAD_128 },
    { hf: "moonshine", partial_rotary_factor: 0.9 },
    { hf: "moonshine_streaming", reads_partial: true, rope_scaling: { rope_theta: 1e4, partial_rotary_factor: 0.8 } },
    { hf: "blt_patcher", derives_head_dim: true },
    { hf: "blt_global_transformer blt_local_decoder blt_local_encoder", derives_head_dim: true, rope_theta: 5e5 },
    { hf: "pe_audio_encoder pe_audio_video_encoder pe_video_encoder", rope_theta: 20000, ...HEAD_128 },
    { hf: "cohere ernie4_5_moe", gguf: "command-r", rope_theta: 5e5 },
    { both: "chatglm", partial_rotary_factor: 0.5 },
    {
      hf: "glm glm4", gguf: "glm4",
      ...HEAD_128, partial_rotary_factor: 0.5, mrope: CHUNKED, sections_pair_half: true,
    },
    { hf: "ernie4_5", gguf: "ernie4_5 ernie4_5-moe", rope_theta: 5e5, ...HEAD_128, mrope: { layout: "ernie" } },
    {
      hf: "llama4 llama4_text", gguf: "llama4",
      rope_theta: 5e5, ...HEAD_128, no_rope_interval: 4, no_rope_temperature: true, gguf_sliding: "same",
    },
    { hf: "deepseek_v2", gguf: "deepseek2 plm", mla: true },
    { gguf: "dots3note", mla: true, gguf_sliding: "plain" },
    { gguf: "bailingmoe3", mla: true, mrope: CHUNKED, sections_pair_half: true },
    { hf: "glm4v glm4v_text glm46v", derives_head_dim: true, reads_partial: true, mrope: GLM_V },
    { hf: "glm_ocr glm_ocr_text", reads_partial: true, mrope: GLM_V },
    {
      hf: "ernie4_5_vl_moe ernie4_5_vl_moe_text ernie4_5_moe_vl",
      rope_theta: 5e5, mrope: { layout: "ernie", section: [22, 22, 20] },
    },
  ]),
  // DeepSeek-style attention: later versions of transformers read interleaved rows and write half-split ones.
  ...paired(DEEPSEEK, [
    {
      hf: "deepseek_v32 kimi_vl axk2 glm_moe_dsa",
      gguf: "deepseek32 glm-dsa",
      mla: true,
    },
    { hf: "deepseek_v3 kimi_k2 kimi_k25 axk1 youtu", mla: "head_dim" },
    { hf: "glm4_moe_lite", mla: "head_dim", reads_partial: true },
    {
      both: "mistral4", mla: "share",
      rope_scaling: yarn(128, 8192, { rope_theta: 1e4, ...MISTRAL_SCALES }),
    },
    { hf: "bailing_hybrid", mla: true, rope_theta: 6e6, length_key: "model_max_length" },
    { hf: "longcat_flash", mla: "head_dim", rope_theta: 1e7 },
  ]),
];
