import type { MropeLayout, Pairing, RopeScaling, RopeType } from "./types.js";

/** RoPE of one kind of layer, in a model whose kinds of layers differ. */
export interface LayerRope {
  rope_theta: number;
  /** Key of an older config.json that holds this kind's base. */
  theta_key?: string;
  rope_type?: RopeType;
  partial_rotary_factor?: number;
  head_dim?: number;
  head_dim_key?: string;
  attention_factor?: number;
  /** Whether an older config.json's one `rope_scaling` is meant for this kind of layer. */
  scaled?: boolean;
}

/** What a family's code knows and its files do not say. */
export interface Family {
  /** Pairing of the weights in a Hugging Face checkpoint. */
  pairing: Pairing;
  /** Pairing of the weights in a GGUF file: llama.cpp's converter permutes the q and k rows of some families. */
  gguf_pairing: Pairing;
  /** Values of the transformers class, for configs that leave them out. */
  rope_theta?: number;
  partial_rotary_factor?: number;
  rotary_dim?: number;
  head_dim?: number;
  hidden_size?: number;
  num_attention_heads?: number;
  original_max_position_embeddings?: number;
  /** The class's scaling, where a config has neither rope_scaling nor rope_parameters. */
  rope_scaling?: RopeScaling;
  /** Older names of rope_theta (dots go into nested objects) and of partial_rotary_factor. */
  theta_key?: string;
  partial_key?: string;
  /** DeepSeek-style attention: a part of its own of each head rotates, qk_rope_head_dim wide. */
  mla?: true;
  /** The rotated elements are the last of the head, not the first. */
  rotates_last?: true;
  mrope?: { layout: MropeLayout; section?: readonly number[] };
  /** GGUF files with `rope.dimension_sections` hold half-split weights although those without are interleaved. */
  sections_pair_half?: true;
  /** Attention's scale: a fixed one, or a key of config.json with the power it is raised to. */
  softmax?: number | { key: string; power: number; default: number };
  /** GGUF: with this many blocks the softmax scale is 1/√(embedding_length / head_count) (Gemma 27B). */
  wide_softmax_blocks?: number;
  /** RoPE by kind of layer, under the names transformers gives them. */
  layers?: Readonly<Record<string, LayerRope>>;
  /**
   * What llama.cpp gives sliding layers: the base and scale of the others (`same`), their base unscaled (`base`),
   * or base 10000 unscaled (`plain`); `rope.freq_base_swa` replaces the base in each case.
   */
  gguf_sliding?: "same" | "base" | "plain";
  /** GGUF: `rope.dimension_count` holds for sliding layers and the others rotate half of it (Step-3.5). */
  gguf_halves_full?: true;
  /** Only sliding layers carry RoPE. */
  sliding_only?: true;
  /** Every n-th layer carries none. */
  no_rope_interval?: number;
  /** Llama 4's query temperature on the layers without RoPE. */
  no_rope_temperature?: true;
}
