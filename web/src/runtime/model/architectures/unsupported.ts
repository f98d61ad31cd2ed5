// Architectures that are known but not supported, and what each needs that this package doesn't have. Sources: the
// architectures of llama.cpp (src/llama-arch.cpp, src/models/), and those of the same models in transformers.

const TABLE = "no operation is missing, but it isn't in the table of architectures";

/** What is missing, and the names of the architectures: in GGUF, then in config.json where they differ. */
const MISSING: Readonly<Record<string, string>> = {
  "one block of attention that several layers share": "zamba zamba2",
  "another form of Mamba": "plamo2",
  "recurrent layers (linear attention)": `qwen4exp kimi-linear kimi-k3 bailingmoe3 glm5-next
    minimax-01 kimi_linear bailing_hybrid minimax MiniMaxText01 olmo_hybrid
    recurrent_gemma`,
  "another form of RWKV than RWKV-7": "rwkv6 rwkv6qwen2 arwkv7 rwkv rwkv5",
  "it has no RoPE; its positions are learned or slopes (ALiBi)": `starcoder mpt refact bloom jais jina-bert-v2 gpt_neo
    gpt_bigcode opt`,
  "an encoder that isn't in the table of architectures": `neo-bert llama-embed neobert electra
    modernbert-decoder xlm-roberta-xl albert convbert rembert new jina_embeddings_v4`,
  "an encoder with positions between tokens": "t5encoder deberta deberta-v2 xlnet",
  "an encoder beside its decoder": "t5 mt5 umt5 t5gemma",
  "it generates text by diffusion, not token by token":
    "dream llada llada-moe rnd1 Dream llada_moe diffusion_gemma_text",
  "it produces sound, not text": "wavtokenizer-dec qwen3tts pockettts csm",
  "it encodes images and has no language model": "clip",
  "a head that scores spans of a prompt": "clef vllm-decision2",
  "it drafts for another model": "eagle3 dflash gemma4-assistant",
  "layers of different sizes": "deci openelm nemotron-nas",
  "clipped queries, keys and values": "dbrx",
  "norms without weights": "olmo",
  "norms of queries and keys with a bias": "chameleon",
  "norms that add a bias, and a router that masks distant scores": "phimoe",
  "experts that read the input of attention": "arctic",
  "capped scores of experts": "grok",
  "a router that reads the input of attention": "smallthinker",
  "smaller experts beside each expert": "grovemoe",
  "a clamped activation": "maple",
  "values of another width than keys": "mimo2 mimo_v2_flash",
  "a gate on the output of attention": "afmoe laguna step35 spark2_5 muse-glimmer step3p5 step3p7 muse_glimmer_text",
  "sparse attention, whose keys an indexer chooses": `minimax-m3 deepseek32 deepseek4 glm-dsa hy_v4 dots3note
    minimax_m3_vl_text deepseek_v32 deepseek_v4 glm_moe_dsa`,
  "layers that run several times": "hrm_text nanbeige",
  "adapters that switch between tokens": "graniteswitch",
  "connections from the embedding to every layer": "talkie",
  "other weights for image tokens": "cogvlm",
  [TABLE]: `falcon baichuan qwen codeshell plamo plamo3 deepseek cohere2moe hunyuan_vl bailingmoe pangu-embedded paddleocr
    maincoder bailing_moe cohere2_moe paddleocr_vl_text persimmon codegen plm deepseek2-ocr bailingmoe2 granite_swa
    longcat_flash bailing_moe_v2 granitemoe_swa`,
};

/** What an architecture needs that this package doesn't have; undefined for one that isn't known. @internal */
export function missingFor(name: string): string | undefined {
  return Object.entries(MISSING).find(([, names]) => names.split(/\s+/).includes(name))?.[0];
}
