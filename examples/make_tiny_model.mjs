// Writes a small GGUF file for experiments: a two-layer llama with random weights and a vocabulary of a hundred words.
//
//   node examples/make_tiny_model.mjs [file.gguf]
import { ggufBytes, typed, writeGguf } from "../tests/files/gguf_writer.mjs";
import { randomNumbers } from "./random_numbers.mjs";
import { isMain } from "./is_main.mjs";

const [hidden, inner, layers, heads, keyHeads, contextLength] = [64, 128, 2, 4, 2, 256];

const words =
  `a again all and anchor around as at away back bay before below bind bow braid cable calm captain coil cold cord cross deck deep
  down draw drift east end far fast few fibre find fine first float from go ground hand hard harbour hemp her hold home hook in into is it its
  keep keel knot lead left lie light line long loose low made make mast might more morning never night no north not oar of old on one open out
  over pass past pull quay rain ran right rope round run sail salt sea set ship shore slow small so some south spin splice stay still strand
  strong sun tar the then they thread tide to turn twist under up walk wall warp was water wave west wheel wind with yard yarn`.split(
    /\s+/,
  );

/** Byte-level tokenizers (GPT-2) write each byte as a printable character: most as themselves, the others from U+0100 up. */
const isPrintable = (byte) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
const unprintable = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => !isPrintable(byte));
const characters = Array.from({ length: 256 }, (_, byte) =>
  String.fromCharCode(isPrintable(byte) ? byte : 0x100 + unprintable.indexOf(byte)),
);
const space = characters[0x20];

/** Words are merged from the left, letter by letter, so every prefix of a word is a token too. */
const prefixes = [...new Set(words.flatMap((word) => Array.from(word, (_, i) => space + word.slice(0, i + 1))))];
const merges = prefixes.map((text) => `${text.slice(0, -1)} ${text.at(-1)}`);
const controlTokens = ["<|end|>", "<|im_start|>", "<|im_end|>"];
const tokens = [...controlTokens, ...characters, ...prefixes];
const sayable = new Set(
  [...words.map((word) => space + word), ".", ",", "<|im_end|>"].map((token) => tokens.indexOf(token)),
);

const chatTemplate = `{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/** The model for writeGguf: { metadata, tensors }. */
export function tinyModel() {
  const random = randomNumbers(4);
  const tensor = (name, shape, value) => {
    const data = Float32Array.from({ length: shape.reduce((product, extent) => product * extent, 1) }, (_, i) =>
      value(Math.floor(i / shape.at(-1))),
    );
    return { name, type: "f32", shape, data: new Uint8Array(data.buffer) };
  };
  const norm = (name) => tensor(name, [hidden], () => 1);
  // scaled so that outputs have the magnitude of the inputs
  const matrix = (name, rows, columns) =>
    tensor(name, [rows, columns], () => (2 * random() - 1) * Math.sqrt(3 / columns));
  const layer = (n) => [
    norm(`blk.${n}.attn_norm.weight`),
    matrix(`blk.${n}.attn_q.weight`, hidden, hidden),
    ...["attn_k", "attn_v"].map((name) => matrix(`blk.${n}.${name}.weight`, (hidden / heads) * keyHeads, hidden)),
    matrix(`blk.${n}.attn_output.weight`, hidden, hidden),
    norm(`blk.${n}.ffn_norm.weight`),
    ...["ffn_gate", "ffn_up"].map((name) => matrix(`blk.${n}.${name}.weight`, inner, hidden)),
    matrix(`blk.${n}.ffn_down.weight`, hidden, inner),
  ];
  return {
    metadata: {
      "general.architecture": "llama",
      "general.name": "tiny, random",
      "llama.block_count": layers,
      "llama.context_length": contextLength,
      "llama.embedding_length": hidden,
      "llama.feed_forward_length": inner,
      "llama.attention.head_count": heads,
      "llama.attention.head_count_kv": keyHeads,
      "llama.attention.layer_norm_rms_epsilon": typed("f32", 1e-5),
      "llama.rope.freq_base": typed("f32", 10000),
      "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "gpt-2",
      "tokenizer.ggml.tokens": tokens,
      "tokenizer.ggml.token_type": tokens.map((_, id) => (id < controlTokens.length ? 3 : 1)), // control, normal
      "tokenizer.ggml.merges": merges,
      "tokenizer.ggml.eos_token_id": tokens.indexOf("<|im_end|>"),
      "tokenizer.ggml.add_bos_token": false,
      "tokenizer.chat_template": chatTemplate,
    },
    tensors: [
      matrix("token_embd.weight", tokens.length, hidden),
      ...Array.from({ length: layers }, (_, n) => layer(n)).flat(),
      norm("output_norm.weight"),
      // zero rows for letters and prefixes, so that sampling picks words and punctuation
      tensor("output.weight", [tokens.length, hidden], (token) => (sayable.has(token) ? random() * 0.6 : 0)),
    ],
  };
}

/** The file in memory: half a megabyte. */
export const tinyModelBytes = () => ggufBytes(tinyModel());

if (isMain(import.meta.url)) {
  const file = process.argv[2] ?? "tiny.gguf";
  if (file.startsWith("-")) {
    console.log("usage: node make_tiny_model.mjs [file, by default tiny.gguf]");
    process.exit(file === "--help" || file === "-h" ? 0 : 2);
  }
  console.log(`${file}: ${await writeGguf(file, tinyModel())} bytes, ${tokens.length} tokens. It generates nonsense.`);
}
