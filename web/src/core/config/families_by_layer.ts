// The model families whose layers differ: in their RoPE, or in whether they have one.
import { type FamilyRow, HEAD_128, type LayerRope, paired, QUERY_KEY, QUERY_SCALAR } from "./family.js";

type Layers = Record<string, LayerRope>;

const kinds = (full_attention: LayerRope, sliding_attention: LayerRope): Layers => ({
  full_attention,
  sliding_attention,
});

// The classes take the RoPE from rope_parameters, by kind of layer, or have their own.
const UNREAD = "rope_scaling rope_theta partial_rotary_factor";

const PLAIN = { gguf_sliding: "plain" } as const;
const FULL = { theta_key: "rope_theta", scaled: true };
const GEMMA = kinds({ ...FULL, rope_theta: 1e6 }, { rope_theta: 1e4, theta_key: "rope_local_base_freq" });
const GLOBAL_HEAD = { head_dim: 512, head_dim_key: "global_head_dim" };
const GEMMA_4 = kinds(
  { rope_theta: 1e6, rope_type: "proportional", partial_rotary_factor: 0.25, ...GLOBAL_HEAD },
  { rope_theta: 1e4 },
);
const DEEPSEEK_V4: Layers = {
  main: {
    rope_theta: 1e4,
    theta_key: "rope_theta",
    needs_keys: true,
    also: ["sliding_attention"],
  },
  compress: {
    rope_theta: 160000,
    theta_key: "compress_rope_theta",
    attention_factor: 1,
    needs_keys: true,
    scaled: true,
    also: ["compressed_sparse_attention", "heavily_compressed_attention"],
  },
};
const MODERNBERT = kinds(
  { rope_theta: 160000, theta_key: "global_rope_theta", scaled: true },
  { rope_theta: 1e4, theta_key: "local_rope_theta", scaled: true },
);

/** Sources: as of families.ts. */
// prettier-ignore
export const layeredRows = (): readonly FamilyRow[] => [
  ...paired("half", [
    {
      hf: "gemma3 gemma3_text t5gemma2_text t5gemma2_decoder", gguf: "gemma3 gemma-embedding",
      head_dim: 256, softmax: QUERY_SCALAR, wide_softmax_blocks: 62, layers: GEMMA, ...PLAIN,
      max_position_embeddings: 131072,
    },
    {
      hf: "gemma3n gemma3n_text", gguf: "gemma3n", head_dim: 256, softmax: 1, layers: GEMMA, ...PLAIN,
      max_position_embeddings: 32768,
    },
    {
      hf: "embedding_gemma2_text", gguf: "gemma-embedding2", head_dim: 256, softmax: 1, unread: UNREAD, ...PLAIN,
      layers: kinds({ rope_theta: 1e6, ...GLOBAL_HEAD }, { rope_theta: 1e4 }),
    },
    {
      hf: "gemma4 gemma4_text gemma4_unified gemma4_unified_text", gguf: "gemma4 gemma4-assistant",
      head_dim: 256, reads_partial: false, softmax: 1, layers: GEMMA_4, unread: UNREAD, ...PLAIN,
      max_position_embeddings: 131072,
    },
    {
      hf: "diffusion_gemma_text",
      head_dim: 256, softmax: 1, layers: GEMMA_4, unread: UNREAD, max_position_embeddings: 131072,
    },
    { hf: "modernbert modernbert-decoder", gguf: "modern-bert", derives_head_dim: true, layers: MODERNBERT, ...PLAIN },
    { hf: "ultrabert", layers: kinds({ rope_theta: 2560000, needs_keys: true }, { rope_theta: 1e4, needs_keys: true }) },
    {
      hf: "olmo3", gguf: "olmo2", gguf_sliding: "base",
      layers: kinds({ ...FULL, rope_theta: 5e5 }, { rope_theta: 5e5 }),
    },
    {
      both: "laguna", ...HEAD_128, unread: UNREAD, gguf_sliding: "base",
      layers: kinds(
        { rope_theta: 5e5, partial_rotary_factor: 0.5 },
        { rope_theta: 1e4, partial_rotary_factor: 1 },
      ),
    },
    {
      both: "mellum", ...HEAD_128, reads_partial: true, unread: UNREAD, gguf_sliding: "base",
      layers: kinds({ rope_theta: 5e5 }, { rope_theta: 1e4 }),
    },
    {
      hf: "mimo_v2_flash", gguf: "mimo2",
      head_dim: 192, partial_rotary_factor: 0.334, unread: `${UNREAD} swa_rope_theta`, ...PLAIN,
      layers: kinds({ rope_theta: 5e6 }, { rope_theta: 1e4 }),
    },
    {
      hf: "step3p5 step3p7", gguf: "step35",
      ...HEAD_128, reads_partial: true, unread: "partial_rotary_factor", softmax: QUERY_KEY, ...PLAIN, gguf_halves_full: true,
      layers: kinds({ ...FULL, rope_theta: 1e4, needs_keys: true }, { rope_theta: 1e4, theta_key: "rope_theta", needs_keys: true }),
    },
    {
      both: "lfm3", ...HEAD_128, reads_partial: false, ...PLAIN,
      layers: kinds(
        {
          rope_theta: 1e6, rope_type: "proportional", partial_means: "proportional",
          partial_rotary_factor: 0.5, needs_keys: true,
        },
        { rope_theta: 1e4, needs_keys: true },
      ),
    },
    { hf: "dory", head_dim: 256, layers: kinds({ rope_theta: 1e7 }, { rope_theta: 1e4 }) },
    {
      hf: "neomme", head_dim: 64,
      layers: kinds(
        { rope_theta: 1e6, theta_key: "rope_theta", partial_rotary_factor: 0.25, keeps_share: true },
        { rope_theta: 1e4, theta_key: "rope_theta", partial_rotary_factor: 1, keeps_share: true },
      ),
    },
    {
      hf: "zaya", ...HEAD_128,
      layers: {
        hybrid: { rope_theta: 5e6, partial_rotary_factor: 0.5 },
        hybrid_sliding: { rope_theta: 1e4, partial_rotary_factor: 0.5 },
      },
    },
    // RoPE on the sliding layers only.
    {
      hf: "exaone4 exaone4_5 exaone4_5_text exaone_moe", gguf: "exaone4 exaone-moe",
      sliding_only: 1, gguf_sliding: "same",
    },
    { both: "afmoe", ...HEAD_128, sliding_only: true, gguf_sliding: "same" },
    { hf: "flint lara_mini muse_glimmer_text", ...HEAD_128, sliding_only: true },
    { hf: "beam", ...HEAD_128, sliding_only: true, unread: UNREAD },
    { hf: "kolibri1", ...HEAD_128, sliding_only: 1 },
    { hf: "muse_spark_text", head_dim: 64, sliding_only: true, rope_scaling: { rope_theta: 5e5 } },
    { gguf: "maple", sliding_only: true, gguf_sliding: "same" },
  ]),
  ...paired("interleaved", [
    {
      hf: "deepseek_v4", gguf: "deepseek4", head_dim: 512, partial_rotary_factor: 0.125, rotates_last: true,
      reads_flat_parameters: true, layers: DEEPSEEK_V4,
    },
    // RoPE on the sliding layers only.
    { gguf: "muse-glimmer", sliding_only: true, gguf_sliding: "base" },
    { both: "cohere2", sliding_only: true, gguf_sliding: "same" },
    {
      hf: "cohere2_moe", gguf: "cohere2moe", ...HEAD_128, sliding_only: true, gguf_sliding: "same",
      unread: "rope_scaling", share_in_parameters: true,
    },
  ]),
  ...paired("interleaved_to_half", [
    {
      hf: "dots3_note_text", mla: "share", reads_partial: true, reads_flat_parameters: "all",
      layers: {
        indexed_attention: { rope_theta: 8e7, theta_key: "rope_theta" },
        sliding_attention: { rope_theta: 50000, theta_key: "swa_rope_theta", needs_keys: true },
      },
    },
  ]),
];
