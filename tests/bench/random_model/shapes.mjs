// Sizes of released models, from their config.json. `parameters` is the number that is published for them, without heads that Ropewalk
// doesn't load (the pooler of BERT, the LoRA adapters of jina). layers.mjs reads the other fields.

const half = (size) => ({ heads: size / 64, kvHeads: size / 64, headDim: 64 });

export const SHAPES = {
  "smollm2-135m": {
    architecture: "llama",
    parameters: 134_515_008,
    ...{ hidden: 576, feedForward: 1536, layers: 30, heads: 9, kvHeads: 3, headDim: 64 },
    ...{ vocabulary: 49152, theta: 1e5, context: 8192 },
  },
  "qwen2.5-0.5b": {
    architecture: "qwen2",
    parameters: 494_032_768,
    ...{ hidden: 896, feedForward: 4864, layers: 24, heads: 14, kvHeads: 2, headDim: 64 },
    ...{ vocabulary: 151936, theta: 1e6, context: 32768 },
  },
  "qwen3-0.6b": {
    architecture: "qwen3",
    parameters: 596_049_920,
    ...{ hidden: 1024, feedForward: 3072, layers: 28, heads: 16, kvHeads: 8, headDim: 128 },
    ...{ vocabulary: 151936, theta: 1e6, context: 32768 },
  },
  "bonsai-1.7b": {
    architecture: "qwen3",
    ...{ hidden: 2048, feedForward: 6144, layers: 28, heads: 16, kvHeads: 8, headDim: 128 },
    ...{ vocabulary: 151936, theta: 1e6, context: 32768 },
  },

  // with recurrent layers
  "qwen3.5-0.8b": {
    architecture: "qwen35",
    parameters: 752_393_024,
    ...{ hidden: 1024, feedForward: 3584, layers: 24, heads: 8, kvHeads: 2, headDim: 256 },
    ...{ vocabulary: 248320, theta: 1e7, context: 262144, rotated: 64, sections: [11, 11, 10, 0] },
    ...{ attentionInterval: 4, kernel: 4, keySize: 128, keyHeads: 16, scanHeads: 16, inner: 2048 },
  },
  "lfm2-350m": {
    architecture: "lfm2",
    parameters: 354_483_968,
    ...{ hidden: 1024, feedForward: 4608, layers: 16, heads: 16, kvHeads: 8, headDim: 64 },
    ...{ vocabulary: 65536, theta: 1e6, context: 128000, attentionLayers: [2, 5, 8, 10, 12, 14], kernel: 3 },
  },
  "granite-4.0-h-350m": {
    architecture: "granitehybrid",
    parameters: 340_332_224,
    ...{ hidden: 768, feedForward: 2048, layers: 32, heads: 12, kvHeads: 4, headDim: 64 },
    ...{ vocabulary: 100352, theta: 1e4, context: 32768, attentionLayers: [10, 13, 17, 27] },
    ...{ kernel: 4, keySize: 128, keyHeads: 1, scanHeads: 48, inner: 1536 },
    factors: { "attention.scale": 0.015625, embedding_scale: 12, residual_scale: 0.246, logit_scale: 3 },
  },
  "falcon-h1-0.5b": {
    architecture: "falcon-h1",
    parameters: 521_411_104,
    ...{ hidden: 1024, feedForward: 2048, layers: 36, heads: 8, kvHeads: 2, headDim: 64 },
    ...{ vocabulary: 32784, theta: 1e11, context: 16384, hasHead: true },
    ...{ kernel: 4, keySize: 128, keyHeads: 1, scanHeads: 24, inner: 1536 },
  },
  "mamba2-130m": {
    architecture: "mamba2",
    parameters: 128_989_632,
    ...{ hidden: 768, layers: 24, vocabulary: 50288, context: 1048576 },
    ...{ kernel: 4, keySize: 128, keyHeads: 1, scanHeads: 24, inner: 1536 },
  },
  "mamba-130m": {
    architecture: "mamba",
    parameters: 129_135_360,
    ...{ hidden: 768, layers: 24, vocabulary: 50280, context: 1048576 },
    ...{ kernel: 4, keySize: 16, stepRank: 48, inner: 1536 },
  },
  "rwkv7-world-0.1b": {
    architecture: "rwkv7",
    parameters: 191_034_624,
    ...{ hidden: 768, feedForward: 3072, layers: 12, vocabulary: 65536, context: 1048576, hasHead: true },
    ...{ wkvHead: 64, ranks: { decay: 64, iclr: 64, value_residual_mix: 32, gate: 128 } },
  },
  "rwkv7-world-0.4b": {
    architecture: "rwkv7",
    parameters: 450_767_872,
    ...{ hidden: 1024, feedForward: 4096, layers: 24, vocabulary: 65536, context: 1048576, hasHead: true },
    ...{ wkvHead: 64, ranks: { decay: 64, iclr: 64, value_residual_mix: 32, gate: 128 } },
  },

  // encoders
  "bge-small-en-v1.5": {
    architecture: "bert",
    parameters: 33_212_160,
    ...{ hidden: 384, feedForward: 1536, layers: 12, heads: 12, kvHeads: 12, headDim: 32 },
    ...{ vocabulary: 30522, context: 512, tokenTypes: 2, pooling: 2 },
  },
  "modernbert-base": {
    architecture: "modern-bert",
    parameters: 149_014_272,
    ...{ hidden: 768, feedForward: 1152, layers: 22, ...half(768) },
    ...{ vocabulary: 50368, theta: 160000, windowTheta: 1e4, window: 128, windowPattern: 3, context: 8192, pooling: 1 },
  },
  "nomic-embed-text-v1.5": {
    architecture: "nomic-bert",
    parameters: 136_731_648,
    ...{ hidden: 768, feedForward: 3072, layers: 12, ...half(768) },
    ...{ vocabulary: 30528, theta: 1000, context: 2048, tokenTypes: 2, pooling: 1 },
  },
  "nomic-embed-text-v2-moe": {
    architecture: "nomic-bert-moe",
    ...{ hidden: 768, feedForward: 3072, layers: 12, ...half(768), experts: 8, expertsUsed: 2, expertsEvery: 2 },
    ...{ vocabulary: 250048, theta: 10000, context: 512, tokenTypes: 1, pooling: 1 },
  },
  "jina-embeddings-v3": {
    architecture: "jina-bert-v3",
    ...{ hidden: 1024, feedForward: 4096, layers: 24, ...half(1024) },
    ...{ vocabulary: 250002, theta: 20000, context: 8194, tokenTypes: 1, pooling: 1 },
  },
  "embeddinggemma-300m": {
    architecture: "gemma-embedding",
    parameters: 307_581_696,
    ...{ hidden: 768, feedForward: 1152, layers: 24, heads: 3, kvHeads: 1, headDim: 256 },
    ...{ vocabulary: 262144, theta: 1e6, windowTheta: 1e4, window: 512, context: 2048, pooling: 1, dense: 3072 },
  },
  "qwen3-embedding-0.6b": {
    architecture: "qwen3",
    parameters: 595_776_512,
    ...{ hidden: 1024, feedForward: 3072, layers: 28, heads: 16, kvHeads: 8, headDim: 128 },
    ...{ vocabulary: 151669, theta: 1e6, context: 32768, pooling: 3 },
  },
};
