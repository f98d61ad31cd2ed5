// Formats and random bytes of weights.
//
// The formats of the tensors are those that llama-quantize chooses (llama-quant.cpp, llama_tensor_get_type): a mix for each file type, and a
// 32-element format instead of a K-quant for rows that aren't whole blocks of 256.
import { tensorTypes } from "../../files/gguf_writer.mjs";

/** File types that mix formats, and the format of most tensors. */
const MIXES = { q4_k_m: "q4_k" };
const FALLBACK_FORMATS = { q4_k: "q5_0", q5_k: "q5_1", q6_k: "q8_0" };

/** What a file can be written as. */
export const FILE_TYPES = [
  ...["f16", "q8_0", "q4_0", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k", "q4_k_m"],
  ...["q1_0", "q2_0", "tq2_0", "mxfp4", "iq4_xs"],
];

/** The tensors of a model for which llama-quantize spends more bits in some layers, and how many there are of each kind. */
const IMPORTANT = { attn_v: "values", attn_qkv: "values", ffn_down: "ffn_down" };

/** Whether llama-quantize spends more bits on tensor `index` of `count` such ones: about half of them get more. */
const hasMoreBits = (index, count) => {
  const eighth = Math.floor(count / 8);
  return index < eighth || index >= Math.floor((7 * count) / 8) || (index - eighth) % 3 === 2;
};

/** The formats of matrices with these names and columns. The output head, which may be the embedding, gets more bits than the rest. */
export function formatsOf(matrices, fileType) {
  const kindOf = ({ name }) => IMPORTANT[/([^.]*)\.weight$/.exec(name)[1]];
  const head = matrices.some(({ name }) => name === "output.weight") ? "output.weight" : "token_embd.weight";
  const counts = { values: 0, ffn_down: 0 };
  for (const kind of matrices.map(kindOf)) if (kind !== undefined) counts[kind]++;
  const seen = { values: 0, ffn_down: 0 };
  return matrices.map((matrix) => {
    const kind = kindOf(matrix);
    const isImportant = kind !== undefined && hasMoreBits(seen[kind]++, counts[kind]) && fileType === "q4_k_m";
    const isHead = matrix.name === head && ["q4_0", "q4_k_m"].includes(fileType);
    const wanted = isImportant || isHead ? "q6_k" : (MIXES[fileType] ?? fileType);
    const fits = (type) => type !== undefined && matrix.columns % tensorTypes[type][1] === 0;
    return [wanted, FALLBACK_FORMATS[wanted], "f16"].find(fits);
  });
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

/** The bytes of a tensor of this format, in pieces. Scales are for `deviation`; f16 and mxfp4 always have the same. */
export function* randomBlocks(type, bytes, seed, deviation = STANDARD_DEVIATION) {
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
          view.setUint16(block + at, halfOf((value * deviation) / STANDARD_DEVIATION), true);
    }
    yield piece;
    done += size;
  }
}
