// A llama of one layer whose rows are whole blocks of 256, in f16: `node tests/files/wide_model.mjs FILE` writes it.
import { patternOf } from "./tiny_models.mjs";
import { typed, writeGguf } from "./gguf_writer.mjs";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [hidden, feedForward, vocabulary, headDim, heads, kvHeads] = [256, 512, 64, 64, 4, 2];

/** Random halves between 2^-6 and 2^2 in magnitude. */
function halves(name, shape) {
  const bytes = patternOf(name, 2 * shape.reduce((product, length) => product * length, 1));
  for (let i = 1; i < bytes.length; i += 2) bytes[i] = (bytes[i] & 0x80) | (0x24 + (bytes[i] & 0x1f));
  return bytes;
}

/** The model, as ggufBytes() and writeGguf() take it. */
export function wideModel() {
  const shapes = {
    "token_embd.weight": [vocabulary, hidden],
    "blk.0.attn_q.weight": [heads * headDim, hidden],
    "blk.0.attn_k.weight": [kvHeads * headDim, hidden],
    "blk.0.attn_v.weight": [kvHeads * headDim, hidden],
    "blk.0.attn_output.weight": [hidden, heads * headDim],
    "blk.0.ffn_gate.weight": [feedForward, hidden],
    "blk.0.ffn_up.weight": [feedForward, hidden],
    "blk.0.ffn_down.weight": [hidden, feedForward],
    "output.weight": [vocabulary, hidden],
  };
  const norm = (name) => ({
    name,
    type: "f32",
    shape: [hidden],
    data: new Uint8Array(new Float32Array(hidden).fill(0.5).buffer),
  });
  const letters = [
    "<s>",
    "</s>",
    ...Array.from({ length: vocabulary - 3 }, (_, i) => String.fromCharCode(0x40 + i)),
    "AB",
  ];
  return {
    metadata: {
      "general.architecture": "llama",
      "general.name": "wide",
      "llama.block_count": 1,
      "llama.context_length": 128,
      "llama.embedding_length": hidden,
      "llama.feed_forward_length": feedForward,
      "llama.attention.head_count": heads,
      "llama.attention.head_count_kv": kvHeads,
      "llama.attention.layer_norm_rms_epsilon": typed("f32", 0.001),
      "llama.rope.dimension_count": headDim,
      "llama.vocab_size": vocabulary,
      "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "gpt-2",
      "tokenizer.ggml.tokens": letters,
      "tokenizer.ggml.token_type": typed(
        "i32",
        letters.map((_, i) => (i < 2 ? 3 : 1)),
      ),
      "tokenizer.ggml.merges": ["A B"],
      "tokenizer.ggml.bos_token_id": 0,
      "tokenizer.ggml.eos_token_id": 1,
    },
    tensors: [
      ...Object.entries(shapes).map(([name, shape]) => ({ name, type: "f16", shape, data: halves(name, shape) })),
      ...["blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"].map(norm),
    ],
  };
}

// through a symbolic link too; this file is also in the installed package's tests, which have no examples
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await writeGguf(process.argv[2], wideModel());
