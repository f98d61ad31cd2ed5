// The model families that no config of this package describes, and why. They are refused whatever pairing is named.

/** Families without RoPE. */
export const WITHOUT_ROPE = {
  hf:
    "gpt2 gpt_neo gpt_bigcode bloom mpt opt t5 mt5 umt5 bert distilbert mpnet roberta xlm-roberta camembert mamba mamba2 jamba nemotron_h " +
    "kimi_linear rwkv rwkv5 rwkv6 rwkv7 moshi_depth clvp_decoder glm5_next_text inkling_text inkling2_text inkling2_loop_text",
  gguf:
    "gpt2 bert mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 t5encoder jais rwkv6 rwkv6qwen2 rwkv7 arwkv7 " +
    "wavtokenizer-dec nemotron_h nemotron_h_moe kimi-linear kimi-k3 glm5-next clip",
};

/** Names of image encoders, which are part of models with a language model. */
export const IMAGE_ENCODERS = /_vision(_model|_encoder)?$/;
/** Why image encoders are refused. */
export const IMAGES = "it encodes images; its positions, if it rotates at all, are those of patches (rope_type axial)";

/** Well-known families whose config.json has the language model in text_config, and no RoPE outside of it. */
export const NESTING =
  "aria aya_vision cohere2_vision idefics2 idefics3 internvl lfm2_vl llava llava_next " +
  "llava_next_video llava_onevision mistral3 paligemma qwen2_audio smolvlm video_llava vipllava voxtral";

/** Families with a RoPE of another kind: the reason, and their names. */
export const REFUSED: { readonly [source in "hf" | "gguf"]: Readonly<Record<string, string>> } = {
  hf: {
    [IMAGES]:
      "edgetam_video mlcd pixtral sam2_video sam3_tracker_video sam3_vit_model chmv2 dinov3_vit eomt_dinov3 " +
      "vjepa2 sapiens2 efficientloftr sam3 sam3_lite_text sam3_tracker sam3_video",
    "it rotates the values too": "clvp clvp_encoder",
    "it rotates the inputs of the q and k projections": "wav2vec2-bert wav2vec2-conformer seamless_m4t",
    "it rotates only the first head of each layer": "qwen2_5_omni_dit",
    "its frequencies are multiplied by weights of the checkpoint": "mistral_large4 mistral_large4_text",
    "its angles are learned from the positions of image points": "lightglue",
    "it has several models with a RoPE of their own, each with a config of its own": `blt esmfold2 nemo_speechlm
      nemotron3_5_transcribe_audio nemotron3_diarization qwen2_5_omni_token2wav higgs_audio_v2_tokenizer lasr_ctc`,
  },
  gguf: { "it drafts for another model and has that model's RoPE": "dflash" },
};
