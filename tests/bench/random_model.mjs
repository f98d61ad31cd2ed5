// Writes models with the shape of real ones and random weights, for benchmarks: `node tests/bench/random_model.mjs FILE SHAPE TYPE`.
//
// The formats of the tensors are those that llama-quantize chooses (llama-quant.cpp, llama_tensor_get_type): a mix for each file type, and a
// 32-element format instead of a K-quant for rows that aren't whole blocks of 256.
import { tensorBytes, tensorTypes, typed, writeGguf } from "../files/gguf_writer.mjs";
import { fileURLToPath } from "node:url";

export const SHAPES = {
  "smollm2-135m": {
    architecture: "llama",
    hidden: 576,
    feedForward: 1536,
    layers: 30,
    heads: 9,
    kvHeads: 3,
    headDim: 64,
    vocabulary: 49152,
    theta: 1e5,
    context: 8192,
  },
  "qwen2.5-0.5b": {
    architecture: "qwen2",
    hidden: 896,
    feedForward: 4864,
    layers: 24,
    heads: 14,
    kvHeads: 2,
    headDim: 64,
    vocabulary: 151936,
    theta: 1e6,
    context: 32768,
  },
  "qwen3-0.6b": {
    architecture: "qwen3",
    hidden: 1024,
    feedForward: 3072,
    layers: 28,
    heads: 16,
    kvHeads: 8,
    headDim: 128,
    vocabulary: 151936,
    theta: 1e6,
    context: 32768,
  },
  "bonsai-1.7b": {
    architecture: "qwen3",
    hidden: 2048,
    feedForward: 6144,
    layers: 28,
    heads: 16,
    kvHeads: 8,
    headDim: 128,
    vocabulary: 151936,
    theta: 1e6,
    context: 32768,
  },
};

/** File types that mix formats, and the format of most tensors. */
const MIXES = { q4_k_m: "q4_k" };
const FALLBACK_FORMATS = { q4_k: "q5_0", q5_k: "q5_1", q6_k: "q8_0" };

/** What a file can be written as. */
export const FILE_TYPES = [
  ...["f16", "q8_0", "q4_0", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k", "q4_k_m"],
  ...["q1_0", "q2_0", "tq2_0", "mxfp4", "iq4_xs"],
];

/** Whether llama-quantize spends more bits on a layer: about half of them do. */
const hasMoreBits = (layer, layers) => {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor((7 * layers) / 8) || (layer - eighth) % 3 === 2;
};

/** The format of a tensor with rows of `columns`. The embedding is also the output head, which gets more bits than the rest. */
function formatOf(fileType, role, columns, layer, layers) {
  const isImportant = ["attn_v", "ffn_down"].includes(role) && fileType === "q4_k_m" && hasMoreBits(layer, layers);
  const isHead = role === "token_embd" && ["q4_0", "q4_k_m"].includes(fileType);
  const wanted = isImportant || isHead ? "q6_k" : (MIXES[fileType] ?? fileType);
  return columns % tensorTypes[wanted][1] === 0 ? wanted : FALLBACK_FORMATS[wanted];
}

const STANDARD_DEVIATION = 0.02; // standard deviation of weights

/** Offsets of the 16-bit scales in a block, and the value that gives weights this standard deviation if the other bytes are random. */
const SCALES = {
  q8_0: [[0, STANDARD_DEVIATION / 74]],
  q4_0: [[0, STANDARD_DEVIATION / 4.6]],
  q5_0: [[0, STANDARD_DEVIATION / 9.2]],
  q5_1: [
    [0, STANDARD_DEVIATION / 9.2],
    [2, -STANDARD_DEVIATION * 1.7],
  ],
  q4_k: [
    [0, STANDARD_DEVIATION / (36 * 5)],
    [2, STANDARD_DEVIATION / (36 * 0.7)],
  ],
  q5_k: [
    [0, STANDARD_DEVIATION / (36 * 10)],
    [2, STANDARD_DEVIATION / (36 * 0.7)],
  ],
  q6_k: [[208, STANDARD_DEVIATION / (74 * 19)]],
  q1_0: [[0, STANDARD_DEVIATION]],
  q2_0: [[0, STANDARD_DEVIATION / 1.2]],
  tq2_0: [[64, STANDARD_DEVIATION / 1.2]],
  iq4_xs: [[0, STANDARD_DEVIATION / (65 * 18)]],
};

/** Half of the standard deviation of mxfp4's table, as a power of two: 2^(e - 128) with this e. */
const MXFP4_EXPONENT = 120;

/** Fills words with xorshift32. */
function fillRandom(words, seed) {
  let state = seed | 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
}

function halfOf(value) {
  const f32 = new Uint32Array(Float32Array.of(Math.abs(value) * 2 ** -112).buffer)[0]; // aligns exponent and mantissa with those of a half
  return ((f32 + 0x1000) >>> 13) | (value < 0 ? 0x8000 : 0);
}

function* randomBlocks(type, bytes, seed) {
  const [, , blockBytes] = tensorTypes[type];
  const pieceBlocks = 4096 * 4;
  for (let done = 0; done < bytes;) {
    const size = Math.min(bytes - done, pieceBlocks * blockBytes);
    const words = new Uint32Array(Math.ceil(size / 4));
    fillRandom(words, seed + done);
    const piece = new Uint8Array(words.buffer, 0, size);
    const view = new DataView(piece.buffer);
    if (type === "f16") {
      for (let i = 0; i + 2 <= size; i += 2) view.setUint16(i, (view.getUint16(i) & 0x83ff) | 0x2000, true); // ±[2^-7, 2^-6)
    } else if (type === "mxfp4") {
      for (let at = 0; at < size; at += blockBytes) piece[at] = MXFP4_EXPONENT;
    } else {
      for (const [at, value] of SCALES[type])
        for (let block = 0; block + blockBytes <= size; block += blockBytes)
          view.setUint16(block + at, halfOf(value), true);
    }
    yield piece;
    done += size;
  }
}

/** Writes a model and returns the file's length. `shape` is a name of {@link SHAPES}, or a shape like those. */
export async function writeRandomModel(path, shape, fileType) {
  const { architecture, hidden, feedForward, layers, heads, kvHeads, headDim, vocabulary, theta, context } =
    SHAPES[shape] ?? shape;
  let seed = 1;
  const matrix = (name, rows, columns) => {
    const [, layer = 0, role] = /^(?:blk\.(\d+)\.)?(.*)$/.exec(name);
    const type = formatOf(fileType, role, columns, Number(layer), layers);
    const tensor = { name: `${name}.weight`, type, shape: [rows, columns] };
    const tensorSeed = (seed += 7919);
    return { ...tensor, data: () => randomBlocks(type, tensorBytes(tensor), tensorSeed) };
  };
  const vector = (name, size, value) => ({
    name,
    type: "f32",
    shape: [size],
    data: new Uint8Array(new Float32Array(size).fill(value).buffer),
  });
  const layer = (n) => {
    const at = (name) => `blk.${n}.${name}`;
    return [
      vector(at("attn_norm.weight"), hidden, 1),
      matrix(at("attn_q"), heads * headDim, hidden),
      matrix(at("attn_k"), kvHeads * headDim, hidden),
      matrix(at("attn_v"), kvHeads * headDim, hidden),
      ...(architecture === "qwen2"
        ? [
            ["q", heads],
            ["k", kvHeads],
            ["v", kvHeads],
          ].map(([name, count]) => vector(at(`attn_${name}.bias`), count * headDim, 0.01))
        : []),
      ...(architecture === "qwen3" ? ["q", "k"].map((name) => vector(at(`attn_${name}_norm.weight`), headDim, 1)) : []),
      matrix(at("attn_output"), hidden, heads * headDim),
      vector(at("ffn_norm.weight"), hidden, 1),
      matrix(at("ffn_gate"), feedForward, hidden),
      matrix(at("ffn_up"), feedForward, hidden),
      matrix(at("ffn_down"), hidden, feedForward),
    ];
  };
  // one token for each byte, and names for the rest, so that a text of n letters has n tokens
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const tokens = ["<unk>", "<s>", "</s>", ...bytes, ...Array.from({ length: vocabulary - 259 }, (_, i) => `<${i}>`)];
  const types = tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1));
  const key = (name) => `${architecture}.${name}`;
  const metadata = {
    "general.architecture": architecture,
    "general.name": SHAPES[shape] === undefined ? "random" : `random ${shape}`,
    [key("block_count")]: layers,
    [key("context_length")]: context,
    [key("embedding_length")]: hidden,
    [key("feed_forward_length")]: feedForward,
    [key("attention.head_count")]: heads,
    [key("attention.head_count_kv")]: kvHeads,
    [key("attention.layer_norm_rms_epsilon")]: typed("f32", 1e-5),
    [key("rope.freq_base")]: typed("f32", theta),
    [key("rope.dimension_count")]: headDim,
    [key("attention.key_length")]: headDim,
    [key("attention.value_length")]: headDim,
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.scores": typed(
      "f32",
      tokens.map((_, i) => -i),
    ),
    "tokenizer.ggml.token_type": typed("i32", types),
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 0,
    "tokenizer.ggml.add_bos_token": false,
    "tokenizer.ggml.add_space_prefix": false,
  };
  const tensors = [
    matrix("token_embd", vocabulary, hidden),
    ...Array.from({ length: layers }, (_, n) => layer(n)).flat(),
    vector("output_norm.weight", hidden, 1),
  ];
  return writeGguf(path, { metadata, tensors });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [path, shape, fileType] = process.argv.slice(2);
  if (SHAPES[shape] === undefined || !FILE_TYPES.includes(fileType)) {
    console.error(`usage: random_model.mjs FILE ${Object.keys(SHAPES).join("|")} ${FILE_TYPES.join("|")}`);
    process.exitCode = 2;
  } else {
    console.log(`${path}: ${await writeRandomModel(path, shape, fileType)} bytes`);
  }
}
