// What can be known of a model family.
import type { MropeLayout, Pairing, RopeScaling, RopeType } from "./types.js";

/** The RoPE of one kind of layer, in a family whose layers differ. */
export interface LayerRope {
  rope_theta: number;
  /** The class has this base only if rope_parameters is absent; the keys of a kind must have theirs (and, in DeepSeek-V4, a share). */
  needs_keys?: true;
  /** Key of older config.json files with this kind's base. */
  theta_key?: string;
  rope_type?: RopeType;
  /**
   * What files mean by the type `default` with a `partial_rotary_factor`: LFM3's were trained as `proportional`, and
   * transformers, whose class reads no share there, rotates every pair.
   */
  partial_means?: RopeType;
  partial_rotary_factor?: number;
  /** The class has that share also where the keys of the kind leave it out. */
  keeps_share?: true;
  head_dim?: number;
  head_dim_key?: string;
  /** Of YaRN, unless the kind has keys of its own. */
  attention_factor?: number;
  /** Whether the `rope_scaling` of older config.json files applies to this kind of layer. */
  scaled?: boolean;
  /** Values of `layer_types` that mean this kind of layer, besides its own name. */
  also?: readonly string[];
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
  /**
   * The class reads `partial_rotary_factor` under the type `default`, as each class with a default for it does (here or
   * by kind of layer). Other classes rotate the whole head then, whatever the file says. Under every other type all
   * read it.
   */
  reads_partial?: boolean;
  /** A `partial_rotary_factor` outside of rope_parameters (or rope_scaling) isn't read. */
  share_in_parameters?: true;
  rotary_dim?: number;
  /** The class reads `rotary_dim`, as each class with a default for it does. */
  reads_rotary_dim?: true;
  head_dim?: number;
  hidden_size?: number;
  num_attention_heads?: number;
  /** For families whose multimodal files leave it out, because it is the class's default. */
  max_position_embeddings?: number;
  /** A key that wins over max_position_embeddings. */
  length_key?: string;
  original_max_position_embeddings?: number;
  /** Default of the class, for configs with neither rope_scaling nor rope_parameters. Its base wins over the file's. */
  rope_scaling?: RopeScaling;
  /** Older name of rope_theta; a dot goes into a nested object. */
  theta_key?: string;
  /** Older name of partial_rotary_factor. */
  partial_key?: string;
  /** The only key with the width of a head, where the config has others that look like it. */
  head_dim_key?: string;
  /** The class doesn't read `head_dim`: heads are the hidden size divided by their number. */
  derives_head_dim?: true;
  /**
   * Keys of the file that the class doesn't read, beside rope_parameters or at all: an error if they say something else
   * than what the class has.
   */
  unread?: string;
  /** A head is this many times as wide as the hidden size divided by the heads, if its key is absent (Zamba2). */
  head_dim_times?: number;
  /**
   * DeepSeek-style attention: only a separate part of each head is rotated, qk_rope_head_dim wide. `share`: the class's
   * `partial_rotary_factor` is that part of the head (Mistral 4). `head_dim`: the class takes the frequencies for
   * `head_dim`, so that another one than that part is an error.
   */
  mla?: true | "share" | "head_dim";
  /** The rotated elements are the last ones of a head, not the first. */
  rotates_last?: true;
  /** Pairs turn by the negative angle (nanochat). */
  reversed?: true;
  /** The class has a `rotary_dim` that its code doesn't read (MiniMax-M3). */
  ignores_rotary_dim?: true;
  /** The class has no default: the file says what its layers have (Cohere Compass). */
  needs_rope_parameters?: true;
  /** Only models with this value of this key have RoPE. */
  only_if?: readonly [key: string, value: string | boolean];
  /** A rope_theta of null means no RoPE (the released OLMo Hybrid), not the class's default. */
  no_rope_if_theta_null?: true;
  mrope?: { layout: MropeLayout; section?: readonly number[] };
  /** GGUF: files with `rope.dimension_sections` have half-split weights, those without interleaved ones. */
  sections_pair_half?: true;
  /**
   * Scale of the attention logits: a number, or a key of config.json and the power it is raised to, or that of heads
   * which are this share of their real width (Zamba2).
   */
  softmax?: number | { key: string; power: number; default?: number } | { share: number };
  /** GGUF: models with this many blocks have a softmax scale of 1/√(embedding_length / head_count) (Gemma 27B). */
  wide_softmax_blocks?: number;
  /** RoPE by kind of layer, with transformers' names. */
  layers?: Readonly<Record<string, LayerRope>>;
  /**
   * In a family with `layers`: its `rope_parameters` may also be the scaling of all kinds that are `scaled`, or (`all`)
   * that of all kinds, with one base.
   */
  reads_flat_parameters?: true | "all";
  /**
   * GGUF: what sliding layers have in llama.cpp. `same`: base and scaling of the other layers. `base`: their base
   * without scaling. `plain`: base 10000 without scaling. `rope.freq_base_swa` replaces the base where llama.cpp reads it.
   */
  gguf_sliding?: "same" | "base" | "plain";
  /** GGUF: `rope.dimension_count` is for sliding layers; the others rotate half of it (Step-3.5). */
  gguf_halves_full?: true;
  /** Only sliding layers have RoPE; 1: in a model whose `sliding_window` isn't null. */
  sliding_only?: true | 1;
  /** Every n-th layer has no RoPE. */
  no_rope_interval?: number;
  /** Llama 4's query temperature on the layers without RoPE. */
  no_rope_temperature?: true;
}

/** A row of a table: the names of some families and what they have in common. */
export interface FamilyRow extends Omit<Family, "pairing" | "gguf_pairing"> {
  /** Values of config.json's `model_type`. */
  hf?: string;
  /** Values of GGUF's `general.architecture`. */
  gguf?: string;
  /** Values of both, in a row without the other two. */
  both?: string;
  pairing: Pairing | readonly [hf: Pairing, gguf: Pairing];
}

/** Heads of this width, which some thirty families have. */
export const HEAD_128 = { head_dim: 128 };

/** The softmax scale of Step-3.5, and Gemma's. */
export const QUERY_KEY = { key: "query_pre_attn_scalar", power: -0.5 };
export const QUERY_SCALAR = { ...QUERY_KEY, default: 256 };

/** Half-split on the Hub, interleaved in GGUF. */
export const PERMUTED = ["half", "interleaved"] as const;

/** Rows with one pairing. */
export const paired = (pairing: FamilyRow["pairing"], rows: readonly Omit<FamilyRow, "pairing">[]): FamilyRow[] =>
  rows.map((row) => ({ ...row, pairing }));
