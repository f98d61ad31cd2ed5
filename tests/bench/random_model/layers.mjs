// The tensors and metadata of an architecture, under the names of GGUF (llama.cpp's llama-arch.cpp and its converter).
//
// A tensor is a matrix { name, rows, columns } in the file's format, or { name, shape, value } in f32, which llama-quantize leaves alone.
import { typed } from "../../files/gguf_writer.mjs";

const f32 = (value) => typed("f32", value);
const matrix = (name, rows, columns) => ({ name: `${name}.weight`, rows, columns });
const vector = (name, size, value) => ({ name, shape: [size], value });
const weight = (name, size) => vector(`${name}.weight`, size, 1);
const bias = (name, size) => vector(`${name}.bias`, size, 0.01);

/** Rows of keys of a state scan, for all heads. */
const scannedKeys = ({ keyHeads, keySize }) => keyHeads * keySize;

const attention = ({ hidden, heads, kvHeads, headDim }, { queries = heads * headDim } = {}) => [
  matrix("attn_q", queries, hidden),
  matrix("attn_k", kvHeads * headDim, hidden),
  matrix("attn_v", kvHeads * headDim, hidden),
  matrix("attn_output", hidden, heads * headDim),
];

const headNorms = ({ headDim }) => [weight("attn_q_norm", headDim), weight("attn_k_norm", headDim)];

const gatedFeedForward = ({ hidden, feedForward }) => [
  matrix("ffn_gate", feedForward, hidden),
  matrix("ffn_up", feedForward, hidden),
  matrix("ffn_down", hidden, feedForward),
];

const plainFeedForward = ({ hidden, feedForward }) => [
  matrix("ffn_up", feedForward, hidden),
  bias("ffn_up", feedForward),
  matrix("ffn_down", hidden, feedForward),
  bias("ffn_down", hidden),
];

/** Experts without a gate. Their matrices lie one after the other. */
const plainExperts = ({ hidden, feedForward, experts }) => [
  matrix("ffn_gate_inp", experts, hidden),
  { ...matrix("ffn_up_exps", feedForward, hidden), count: experts },
  { ...matrix("ffn_down_exps", hidden, feedForward), count: experts },
];

const convolution = (name, channels, kernel) => ({
  name: `${name}.weight`,
  shape: [channels, kernel],
  value: 1 / kernel,
});

function deltaNetwork(shape) {
  const { hidden, inner, scanHeads, kernel, keySize } = shape;
  const channels = inner + 2 * scannedKeys(shape);
  return [
    vector("ssm_a", scanHeads, -1),
    convolution("ssm_conv1d", channels, kernel),
    vector("ssm_dt.bias", scanHeads, 0.5),
    matrix("ssm_alpha", scanHeads, hidden),
    matrix("ssm_beta", scanHeads, hidden),
    matrix("attn_qkv", channels, hidden),
    matrix("attn_gate", inner, hidden),
    weight("ssm_norm", keySize),
    matrix("ssm_out", hidden, inner),
  ];
}

function mamba2(shape, { hasNorm = true } = {}) {
  const { hidden, inner, scanHeads, kernel, keyHeads } = shape;
  const channels = inner + 2 * scannedKeys(shape);
  return [
    { name: "ssm_a", shape: [scanHeads, 1], value: -1 },
    { name: "ssm_d", shape: [scanHeads, 1], value: 1 },
    convolution("ssm_conv1d", channels, kernel),
    vector("ssm_conv1d.bias", channels, 0.01),
    vector("ssm_dt.bias", scanHeads, 0.5),
    matrix("ssm_in", inner + channels + scanHeads, hidden),
    ...(hasNorm ? [{ name: "ssm_norm.weight", shape: [keyHeads, inner / keyHeads], value: 1 }] : []),
    matrix("ssm_out", hidden, inner),
  ];
}

const mamba = ({ hidden, inner, kernel, keySize, stepRank }) => [
  { name: "ssm_a", shape: [inner, keySize], value: -1 },
  vector("ssm_d", inner, 1),
  convolution("ssm_conv1d", inner, kernel),
  vector("ssm_conv1d.bias", inner, 0.01),
  matrix("ssm_in", 2 * inner, hidden),
  matrix("ssm_x", stepRank + 2 * keySize, inner),
  matrix("ssm_dt", inner, stepRank),
  vector("ssm_dt.bias", inner, 0.5),
  matrix("ssm_out", hidden, inner),
];

const shortConvolution = ({ hidden, kernel }) => [
  convolution("shortconv.conv", hidden, kernel),
  matrix("shortconv.in_proj", 3 * hidden, hidden),
  matrix("shortconv.out_proj", hidden, hidden),
];

const preNorms = ({ hidden }) => [weight("attn_norm", hidden), weight("ffn_norm", hidden)];
const normAndBias = (name, size) => [weight(name, size), bias(name, size)];
/** Norms after the residual. */
const postNorms = ({ hidden }) =>
  ["attn_output_norm", "layer_output_norm"].flatMap((name) => normAndBias(name, hidden));

function fusedAttention({ hidden }, { hasBiases }) {
  const matrices = [matrix("attn_qkv", 3 * hidden, hidden), matrix("attn_output", hidden, hidden)];
  return hasBiases ? [...matrices, bias("attn_qkv", 3 * hidden), bias("attn_output", hidden)] : matrices;
}

/** A product of a low rank, which the files name after a letter. The gate has no bias. */
const lowRank = (letter, hidden, rank) => [
  matrix(`time_mix_${letter}1`, rank, hidden),
  matrix(`time_mix_${letter}2`, hidden, rank),
  ...(letter === "g" ? [] : [vector(`time_mix_${letter}0.weight`, hidden, letter === "w" ? -2 : 0.01)]),
];

/** Layer 0 has no share of values. Files for llama.cpp have tensors for it all the same, which nothing reads. */
const rwkv7 = ({ hidden, feedForward, ranks }, n) => [
  ...normAndBias("attn_norm", hidden),
  ...normAndBias("attn_norm_2", hidden),
  ...["receptance", "key", "value", "output"].map((part) => matrix(`time_mix_${part}`, hidden, hidden)),
  ...lowRank("w", hidden, ranks.decay),
  ...lowRank("a", hidden, ranks.iclr),
  ...lowRank("g", hidden, ranks.gate),
  ...(n > 0 ? lowRank("v", hidden, ranks.value_residual_mix) : []),
  { name: "time_mix_lerp_fused.weight", shape: [6, 1, 1, hidden], value: 0.5 },
  ...["k_k", "k_a", "r_k"].map((part) => vector(`time_mix_${part}.weight`, hidden, 0.5)),
  ...normAndBias("time_mix_ln", hidden),
  vector("channel_mix_lerp_k.weight", hidden, 0.5),
  matrix("channel_mix_key", feedForward, hidden),
  matrix("channel_mix_value", hidden, feedForward),
];

const queryBiases = ({ kvHeads, heads, headDim }) => [
  bias("attn_q", heads * headDim),
  bias("attn_k", kvHeads * headDim),
  bias("attn_v", kvHeads * headDim),
];

const isAttention = ({ attentionInterval, attentionLayers }, n) =>
  attentionLayers?.includes(n) ?? (n + 1) % attentionInterval === 0;

/** The tensors of layer `n`, without its prefix. */
const LAYERS = {
  llama: (s) => [...preNorms(s), ...attention(s), ...gatedFeedForward(s)],
  qwen2: (s) => [...preNorms(s), ...attention(s), ...queryBiases(s), ...gatedFeedForward(s)],
  qwen3: (s) => [...preNorms(s), ...attention(s), ...headNorms(s), ...gatedFeedForward(s)],
  qwen35: (s, n) => [
    weight("attn_norm", s.hidden),
    weight("post_attention_norm", s.hidden),
    // each head's query is followed by its gate
    ...(isAttention(s, n) ? [...attention(s, { queries: 2 * s.heads * s.headDim }), ...headNorms(s)] : deltaNetwork(s)),
    ...gatedFeedForward(s),
  ],
  lfm2: (s, n) => [
    ...preNorms(s),
    ...(isAttention(s, n) ? [...attention(s), ...headNorms(s)] : shortConvolution(s)),
    ...gatedFeedForward(s),
  ],
  granitehybrid: (s, n) => [...preNorms(s), ...(isAttention(s, n) ? attention(s) : mamba2(s)), ...gatedFeedForward(s)],
  "falcon-h1": (s) => [
    weight("attn_norm", s.hidden),
    vector("ffn_norm", s.hidden, 1), // the converter writes it without ".weight"
    ...attention(s),
    ...mamba2(s, { hasNorm: false }),
    ...gatedFeedForward(s),
  ],
  mamba2: (s) => [weight("attn_norm", s.hidden), ...mamba2(s)],
  mamba: (s) => [weight("attn_norm", s.hidden), ...mamba(s)],
  rwkv7,
  bert: (s) => [
    ...attention(s),
    ...queryBiases(s),
    bias("attn_output", s.hidden),
    ...plainFeedForward(s),
    ...postNorms(s),
  ],
  "nomic-bert": (s) => [...fusedAttention(s, { hasBiases: false }), ...gatedFeedForward(s), ...postNorms(s)],
  "nomic-bert-moe": (s, n) => [
    ...fusedAttention(s, { hasBiases: true }),
    ...(n % s.expertsEvery === 1 ? plainExperts(s) : plainFeedForward(s)),
    ...postNorms(s),
  ],
  "jina-bert-v3": (s) => [...fusedAttention(s, { hasBiases: true }), ...plainFeedForward(s), ...postNorms(s)],
  "modern-bert": (s, n) => [
    ...(n > 0 ? [weight("attn_norm", s.hidden)] : []), // the embedding's norm comes before the first layer
    weight("ffn_norm", s.hidden),
    ...fusedAttention(s, { hasBiases: false }),
    matrix("ffn_up", 2 * s.feedForward, s.hidden),
    matrix("ffn_down", s.hidden, s.feedForward),
  ],
  "gemma-embedding": (s) => [
    ...preNorms(s),
    weight("post_attention_norm", s.hidden),
    weight("post_ffw_norm", s.hidden),
    ...attention(s),
    ...headNorms(s),
    ...gatedFeedForward(s),
  ],
};

/** The tensors outside of layers. The embedding is the output head of decoders, unless the shape has one. */
function outside({ architecture, hidden, vocabulary, context, tokenTypes, dense, hasHead }) {
  const isBert = ["bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v3"].includes(architecture);
  const isRwkv = architecture === "rwkv7";
  const embeddingNorm = isBert || isRwkv ? normAndBias("token_embd_norm", hidden) : [];
  return [
    matrix("token_embd", vocabulary, hidden),
    ...(hasHead ? [matrix("output", vocabulary, hidden)] : []),
    ...(architecture === "bert" ? [{ name: "position_embd.weight", shape: [context, hidden], value: 0.01 }] : []),
    ...(tokenTypes ? [{ name: "token_types.weight", shape: [tokenTypes, hidden], value: 0.01 }] : []),
    ...(architecture === "modern-bert" ? [weight("token_embd_norm", hidden)] : embeddingNorm),
    ...(architecture === "lfm2" ? [weight("token_embd_norm", hidden)] : []), // GGUF's name of the final norm of LFM2
    ...(isBert || architecture === "lfm2" ? [] : [weight("output_norm", hidden)]),
    ...(isRwkv ? [bias("output_norm", hidden)] : []),
    ...(dense ? [matrix("dense_2", dense, hidden), matrix("dense_3", hidden, dense)] : []),
  ];
}

/** All tensors of a model of this shape. */
export function tensorsOf(shape) {
  const layer = (n) =>
    LAYERS[shape.architecture](shape, n).map((tensor) => ({ ...tensor, name: `blk.${n}.${tensor.name}` }));
  return [...outside(shape), ...Array.from({ length: shape.layers }, (_, n) => layer(n)).flat()];
}

const ENCODERS = ["bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v3", "modern-bert"];
const LAYER_NORM = [...ENCODERS, "rwkv7"];

/** The metadata of a model of this shape, without its tokenizer's. */
export function metadataOf(shape) {
  const { architecture, layers, heads, kvHeads, headDim, attentionLayers } = shape;
  const norm = LAYER_NORM.includes(architecture) ? "layer_norm_epsilon" : "layer_norm_rms_epsilon";
  // in hybrids, layers without attention have no heads of keys
  const keyHeads = attentionLayers
    ? Array.from({ length: layers }, (_, n) => (isAttention(shape, n) ? kvHeads : 0))
    : kvHeads;
  const isEncoder = [...ENCODERS, "gemma-embedding"].includes(architecture);
  const keys = {
    block_count: layers,
    context_length: shape.context,
    embedding_length: shape.hidden,
    feed_forward_length: shape.feedForward ?? 0,
    "attention.head_count": heads ?? 0,
    "attention.head_count_kv": keyHeads,
    [`attention.${norm}`]: f32(1e-5),
    "attention.key_length": headDim,
    "attention.value_length": headDim,
    "attention.causal": isEncoder ? false : undefined,
    "attention.sliding_window": shape.window,
    "attention.sliding_window_pattern": shape.windowPattern,
    pooling_type: shape.pooling,
    expert_count: shape.experts,
    expert_used_count: shape.expertsUsed,
    moe_every_n_layers: shape.expertsEvery,
    "rope.freq_base": shape.theta && f32(shape.theta),
    "rope.freq_base_swa": shape.windowTheta && f32(shape.windowTheta),
    "rope.dimension_count": shape.rotated ?? headDim,
    "rope.dimension_sections": shape.sections,
    "rope.scaling.finetuned": architecture === "granitehybrid" ? false : undefined, // no RoPE at all
    full_attention_interval: shape.attentionInterval,
    "shortconv.l_cache": architecture === "lfm2" ? shape.kernel : undefined,
    vocab_size: shape.vocabulary,
    dense_2_feat_in: shape.dense && shape.hidden,
    dense_2_feat_out: shape.dense,
    dense_3_feat_in: shape.dense,
    dense_3_feat_out: shape.dense && shape.hidden,
    ...scanKeys(shape),
    ...wkvKeys(shape),
    ...Object.fromEntries(Object.entries(shape.factors ?? {}).map(([key, factor]) => [key, f32(factor)])),
  };
  const present = Object.entries(keys).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([key, value]) => [`${architecture}.${key}`, value]));
}

const wkvKeys = ({ wkvHead, ranks }) =>
  wkvHead === undefined
    ? {}
    : {
        "wkv.head_size": wkvHead,
        ...Object.fromEntries(Object.entries(ranks).map(([part, rank]) => [`attention.${part}_lora_rank`, rank])),
      };

const scanKeys = ({ inner, kernel, keySize, keyHeads, scanHeads, stepRank }) =>
  inner === undefined
    ? {}
    : {
        "ssm.conv_kernel": kernel,
        "ssm.state_size": keySize,
        "ssm.group_count": keyHeads,
        "ssm.time_step_rank": stepRank ?? scanHeads,
        "ssm.inner_size": inner,
      };
