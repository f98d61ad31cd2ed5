// Encoders: BERT, DistilBERT, RoBERTa, MPNet, ModernBERT, nomic-bert (with experts too), GTE, jina-embeddings-v3 and EuroBERT. They read a text whole.
import * as advise from "../../../core/base/advice.js";
import type { ConfigReader } from "../config/config_reader.js";
import { bothSides } from "./parts/sliding_windows.js";
import { LLAMA_NAMES, type LayerNames, type TensorNames } from "./parts/tensor_names.js";
import type { ActivationName, Architecture, EncoderConfig, LearnedPositions } from "./parts/architecture.js";
import { biasesIf, hiddenActivation, llama, POST_NORMS, PRE_NORMS, QKV } from "./parts/common.js";
import { MAX_WIDTH } from "../config/limits.js";
import { ggufHead, labelHead, modernBertHead } from "./parts/ranking_heads.js";
import { readExperts } from "./parts/experts.js";

const ALL = [...QKV, "output", "up", "down"] as const;
const POSITIONS = "position_embd.weight";
const TYPES = "token_types.weight";
/** Parts for other tasks, and tables that are computed. */
const OTHERS =
  /(^|\.)pooler\.dense\.|^(cls|lm_head|decoder|head|classifier|predictions)\.|\.position_ids$|^(qa_outputs|score)\./;

const POST_NORM_NAMES: LayerNames = {
  attention_post_norm: "attn_output_norm",
  feed_forward_post_norm: "layer_output_norm",
};

const BERT_NAMES: TensorNames = {
  layer: "encoder.layer.{n}.",
  embedding: "embeddings.word_embeddings",
  positions: "embeddings.position_embeddings",
  token_types: "embeddings.token_type_embeddings",
  embedding_norm: "embeddings.LayerNorm",
  final_norm: "",
  head: "",
  prefixes: ["bert.", "roberta."],
  others: OTHERS,
  layers: {
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    output: "attention.output.dense",
    attention_post_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    feed_forward_post_norm: "output.LayerNorm",
  },
};

const DISTILBERT_NAMES: TensorNames = {
  ...BERT_NAMES,
  layer: "transformer.layer.{n}.",
  prefixes: ["distilbert."],
  others: /^(vocab_(transform|layer_norm|projector)|qa_outputs|pre_classifier|classifier)\.|\.position_ids$/,
  layers: {
    query: "attention.q_lin",
    key: "attention.k_lin",
    value: "attention.v_lin",
    output: "attention.out_lin",
    attention_post_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    feed_forward_post_norm: "output_layer_norm",
  },
};

/** The row of padding in its table of positions, whatever its config says. */
const MPNET_PADDING = 1;
const MPNET_NAMES: TensorNames = {
  ...BERT_NAMES,
  relative_bias: "encoder.relative_attention_bias",
  prefixes: ["mpnet."],
  layers: {
    ...BERT_NAMES.layers,
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    output: "attention.attn.o",
    attention_post_norm: "attention.LayerNorm",
  },
};

/** The names of the models' own code, which transformers writes too. */
const NOMIC_NAMES: TensorNames = {
  ...BERT_NAMES,
  layer: "encoder.layers.{n}.",
  embedding_norm: "emb_ln",
  prefixes: ["bert.", "nomic_bert.", "roberta."],
  layers: {
    query_key_value: "attn.Wqkv",
    output: "attn.out_proj",
    attention_post_norm: "norm1",
    gate: "mlp.fc12",
    up: "mlp.fc11",
    down: "mlp.fc2",
    feed_forward_post_norm: "norm2",
  },
};

const GTE_NAMES: TensorNames = {
  ...BERT_NAMES,
  prefixes: ["gte.", "new."],
  layers: {
    query_key_value: "attention.qkv_proj",
    output: "attention.o_proj",
    attention_post_norm: "attn_ln",
    up_gate: "mlp.up_gate_proj",
    down: "mlp.down_proj",
    feed_forward_post_norm: "mlp_ln",
  },
};

const JINA_NAMES: TensorNames = {
  ...NOMIC_NAMES,
  layers: {
    query_key_value: "mixer.Wqkv",
    output: "mixer.out_proj",
    attention_post_norm: "norm1",
    up: "mlp.fc1",
    down: "mlp.fc2",
    feed_forward_post_norm: "norm2",
  },
};

/** An encoder whose norms come after the residual. */
const bert: Architecture = {
  ...llama,
  huggingFace: ["bert"],
  gguf: ["bert"],
  hasNoRope: true,
  norm: "layer",
  activation: hiddenActivation("gelu"),
  isGated: false,
  norms: () => POST_NORMS,
  biases: () => ALL,
  encoder: postNorm,
  positions: (reader) => positionsOf(reader, () => 0),
  check: refuseDecoders,
  rankingHead: (reader, prefix) =>
    reader.isGguf ? ggufHead(reader, "tanh") : labelHead(reader, [`${prefix}pooler.dense`, "classifier"], "tanh"),
  names: BERT_NAMES,
  ggufNames: POST_NORM_NAMES,
};

const { positions: _, ...withoutPositions } = bert;
const nomic: Architecture = {
  ...withoutPositions,
  huggingFace: ["nomic_bert"],
  gguf: ["nomic-bert"],
  hasNoRope: false,
  activation: nomicActivation,
  isGated: true,
  biases: () => [],
  check: refusePreNorms,
  names: NOMIC_NAMES,
};

/** @internal */
export const ENCODER_ROWS: readonly Architecture[] = [
  bert,
  {
    ...bert,
    huggingFace: ["roberta", "xlm-roberta", "camembert"],
    gguf: [],
    positions: (reader) => positionsOf(reader, () => reader.integer(["pad_token_id", ""], 1, 0) + 1),
    rankingHead: (reader) => labelHead(reader, ["classifier.dense", "classifier.out_proj"], "tanh"),
  },
  {
    ...bert,
    huggingFace: ["distilbert"],
    gguf: [], // its files have the name of BERT
    encoder: () => ({ normalizesResidual: true }),
    epsilon: 1e-12,
    activation: hiddenActivation("gelu", "gelu", ["activation"]),
    feedForwardSize: (reader) => reader.integer(["hidden_dim", ""], undefined, 1, MAX_WIDTH),
    rankingHead: (reader) => labelHead(reader, ["pre_classifier", "classifier"], "relu"),
    names: DISTILBERT_NAMES,
  },
  {
    ...bert,
    huggingFace: ["mpnet"],
    gguf: [],
    encoder: () => ({ normalizesResidual: true }),
    positions: (reader) => positionsOf(reader, () => MPNET_PADDING + 1),
    relativePositions: mpnetBuckets,
    rankingHead: (reader) => labelHead(reader, ["classifier.dense", "classifier.out_proj"], "tanh"),
    names: MPNET_NAMES,
  },
  nomic,
  {
    ...nomic,
    huggingFace: [],
    gguf: ["nomic-bert-moe"],
    activation: hiddenActivation("gelu"),
    isGated: false,
    experts: (reader) =>
      readExperts(reader, {
        experts: ["num_experts"],
        used: ["moe_top_k"],
        size: ["n_inner"],
        normalizes: [false, false],
      }),
  },
  {
    ...nomic,
    huggingFace: ["gte", "new"],
    gguf: [],
    activation: hiddenActivation("gelu"),
    biases: () => [...QKV, "output", "down"],
    check: refuseOtherGte,
    names: GTE_NAMES,
  },
  {
    ...nomic,
    huggingFace: ["jina_embeddings_v3"],
    gguf: ["jina-bert-v3"],
    activation: hiddenActivation("gelu"),
    isGated: false,
    biases: () => ALL,
    check: () => undefined,
    names: JINA_NAMES,
  },
  {
    ...llama,
    huggingFace: ["modernbert"],
    gguf: ["modern-bert"],
    norm: "layer",
    hasNormBiases: (reader) => !reader.isGguf && reader.boolean(["norm_bias", ""], false),
    activation: hiddenActivation("gelu"),
    isGated: true,
    // the first layer reads the embedding, which is normalized
    norms: (_, layer) => (layer === 0 ? ["feed_forward_norm"] : PRE_NORMS),
    biases: (reader) => [
      ...biasesIf("attention_bias", [...QKV, "output"])(reader),
      ...biasesIf("mlp_bias", ["gate", "up", "down"])(reader),
    ],
    encoder: () => ({}),
    rankingHead: modernBertHead,
    window: modernBertWindows,
    hasTwoRopes: true,
    names: {
      layer: "layers.{n}.",
      embedding: "embeddings.tok_embeddings",
      embedding_norm: "embeddings.norm",
      final_norm: "final_norm",
      head: "",
      prefixes: ["model."],
      others: OTHERS,
      layers: {
        attention_norm: "attn_norm",
        query_key_value: "attn.Wqkv",
        output: "attn.Wo",
        feed_forward_norm: "mlp_norm",
        gate_up: "mlp.Wi",
        down: "mlp.Wo",
      },
    },
  },
  {
    ...llama,
    huggingFace: ["eurobert"],
    gguf: ["eurobert"],
    activation: hiddenActivation("silu"),
    biases: (reader) => [
      ...biasesIf("attention_bias", [...QKV, "output"])(reader),
      ...biasesIf("mlp_bias", ["gate", "up", "down"])(reader),
    ],
    encoder: () => ({}),
    names: {
      ...LLAMA_NAMES,
      layer: "layers.{n}.",
      embedding: "embed_tokens",
      final_norm: "norm",
      prefixes: ["model."],
      others: OTHERS,
    },
  },
];

/** Both sides of a local layer: a token sees those at most half a window away. */
function modernBertWindows(reader: ConfigReader): (layer: number) => number {
  const window = reader.integer(
    ["local_attention", "attention.sliding_window"],
    reader.isGguf ? 0 : 128,
    reader.isGguf ? 0 : 2,
  );
  const types = reader.list(["layer_types", ""]);
  const pattern = reader.list(["", "attention.sliding_window_pattern"]);
  const every = reader.integer(["global_attn_every_n_layers", "attention.sliding_window_pattern"], 3, 0);
  const isLocal = (layer: number): boolean => {
    if (types !== undefined) return types[layer] === "sliding_attention";
    return pattern === undefined ? every > 0 && layer % every !== 0 : Boolean(pattern[layer]);
  };
  return (layer) => (window > 0 && isLocal(layer) ? bothSides(window) : 0);
}

/** BERT and RoBERTa can be decoders, with causal attention. */
function refuseDecoders(reader: ConfigReader): void {
  for (const key of ["is_decoder", "add_cross_attention"])
    if (!reader.isGguf && reader.boolean([key, ""], false))
      reader.refuse("UNSUPPORTED_MODEL", key, `${reader.architecture} as a decoder is not supported`);
}

/** The class computes 32 buckets, whatever the rows of the table. */
function mpnetBuckets(reader: ConfigReader): { buckets: number; maxDistance: number } {
  const buckets = 32;
  reader.integer(["relative_attention_num_buckets", ""], buckets, buckets);
  return { buckets, maxDistance: 128 };
}

/** GGUF files of DistilBERT have no types. */
function postNorm(reader: ConfigReader): EncoderConfig {
  const tokenTypes = reader.isGguf ? reader.rowsOfTensor(TYPES) : reader.integer(["type_vocab_size", ""], 2, 0);
  return { normalizesResidual: true, tokenTypes };
}

function positionsOf(reader: ConfigReader, unused: () => number): LearnedPositions {
  const { value, path } = reader.find(["position_embedding_type", ""]);
  if (value !== undefined && value !== "absolute")
    reader.refuse("UNSUPPORTED_MODEL", path, "only absolute positions are supported");
  if (reader.isGguf) return { count: reader.rowsOfTensor(POSITIONS), unused: 0 };
  const skipped = unused();
  const rows = reader.integer(["max_position_embeddings", ""], undefined, skipped + 1);
  return { count: rows - skipped, unused: skipped };
}

function nomicActivation(reader: ConfigReader): ActivationName {
  const { value, path } = reader.find(["activation_function", ""]);
  if (reader.isGguf || value === undefined || value === "swiglu") return hiddenActivation("silu")(reader);
  if (value === "geglu") return "gelu";
  return reader.refuse(
    "UNSUPPORTED_MODEL",
    path,
    `activation ${String(value)} of ${reader.architecture} is not supported`,
  );
}

/** What GTE's own code has, and no released model. */
function refuseOtherGte(reader: ConfigReader): void {
  if (reader.boolean(["logn_attention_scale", ""], false))
    reader.refuse("UNSUPPORTED_MODEL", "logn_attention_scale", "gte with logn_attention_scale is not supported");
  const norm = reader.find(["layer_norm_type", ""]).value;
  if (norm !== undefined && norm !== "layer_norm")
    reader.refuse("UNSUPPORTED_MODEL", "layer_norm_type", `gte with norms of type ${String(norm)} is not supported`);
}

function refusePreNorms(reader: ConfigReader): void {
  const every = "moe_every_n_layers";
  if (!reader.isGguf && reader.integer([every, ""], 0, 0) > 0)
    reader.refuse(
      "UNSUPPORTED_MODEL",
      every,
      "nomic_bert with experts is read from GGUF only",
      advise.other("use the GGUF file of this model"),
    );
  for (const key of ["prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "parallel_block", "use_rms_norm"]) {
    if (reader.boolean([key, ""], false))
      reader.refuse("UNSUPPORTED_MODEL", key, `nomic_bert with ${key} is not supported`);
  }
}
