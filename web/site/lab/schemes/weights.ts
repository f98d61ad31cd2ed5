// The attention weights of each position scheme in the panel "Other positions".
import type { AttentionOptions, Ropewalk } from "ropewalk";

/** Number of tokens, and of elements of a head: each token has its own element of the values. */
export const TOKENS = 64;

/** A position scheme, with what it's called on the page. */
export interface Scheme {
  id: string;
  name: string;
  /** How it works, in a sentence or two. */
  about: string;
  isLinear?: boolean;
}

/** In the order of the page. */
export const SCHEMES: readonly Scheme[] = [
  { id: "none", name: "none", about: "None: the model gets no positions. Equal tokens get equal weights." },
  {
    id: "sinusoidal",
    name: "sinusoidal",
    about: "Sinusoidal: sines and cosines of the position are added to each token, as in the first transformer.",
  },
  {
    id: "learned",
    name: "learned",
    about:
      "Learned: a trained vector for each position is added to each token, as in GPT-2. There are no more positions than vectors.",
  },
  {
    id: "alibi",
    name: "ALiBi",
    about: "ALiBi: the score is lowered in proportion to the distance, by a slope that each head has.",
  },
  {
    id: "t5",
    name: "T5",
    about: "T5: a trained number is added to the score, one for each range (bucket) of distances.",
  },
  {
    id: "rope",
    name: "RoPE",
    about:
      "RoPE: queries and keys are rotated by their position, so scores depend on the distance. Nothing is trained.",
  },
  {
    id: "linear",
    name: "linear, RoPE",
    about:
      "Linear attention with RoPE: no softmax. Sums over all tokens replace the keys and values, so it can't look as sharply at one token.",
    isLinear: true,
  },
];

/** The kind of each token: eight, in a mixed order. */
const KIND_OF = Array.from({ length: TOKENS }, (_, token) => Math.imul(token + 1, 0x9e3779b1) >>> 29);

/** [tokens, head_dim] vectors that are queries and keys: all equal, or different for each kind of token. */
const VECTORS: Record<string, Float32Array> = {
  equal: new Float32Array(TOKENS * TOKENS).fill(0.7),
  kinds: Float32Array.from(
    { length: TOKENS * TOKENS },
    (_, i) => 0.5 + 0.6 * Math.sin((KIND_OF[Math.floor(i / TOKENS)]! + 1) * ((i % TOKENS) + 1) ** 2),
  ),
};

/** The values are the rows of an identity matrix, so outputs are weights. */
const IDENTITY = Float32Array.from({ length: TOKENS * TOKENS }, (_, i) => (i % (TOKENS + 1) === 0 ? 1 : 0));

/** A made-up table in which neighbors are alike, as in tables that models have learned. */
const LEARNED = Float32Array.from({ length: TOKENS * TOKENS }, (_, i) => {
  const [position, element] = [Math.floor(i / TOKENS), i % TOKENS];
  return 0.7 * Math.sin(element ** 2 + (position * (1 + (element % 7))) / 12);
});

/** T5's bias of each bucket. Learned in T5; here it falls with the distance. */
const T5_BIASES = Float32Array.from({ length: 16 }, (_, bucket) => -bucket / 4);

/** Computes weights, [query][key], by scheme. */
export function weigher(rw: Ropewalk) {
  const rope = rw.rope({ head_dim: TOKENS, rope_theta: 10000, pairing: "half" });
  const positions: Record<string, Partial<AttentionOptions>> = {
    none: { position: "none" },
    sinusoidal: { position: { scheme: "sinusoidal" } },
    learned: { position: { scheme: "learned", table: LEARNED } },
    alibi: { position: { scheme: "alibi", slopes: rw.alibiSlopes(8).subarray(2, 3) } },
    t5: { position: { scheme: "t5", table: T5_BIASES, maxDistance: TOKENS } },
    rope: { rope },
  };
  const shape = { layout: "thd", shape: [TOKENS, 1, TOKENS] } as const;
  return ({ id, isLinear }: Scheme, tokens: string, window: number, sinkTokens: number): Float32Array => {
    const x = VECTORS[tokens]!;
    if (isLinear) return rw.linearAttention(x, x, IDENTITY, { ...shape, rope });
    // a window of all tokens is no window
    const mask = window < TOKENS ? { window, sinkTokens } : {};
    return rw.attention<Float32Array, Float32Array>(x, x, IDENTITY, {
      ...shape,
      ...mask,
      ...positions[id],
    } as AttentionOptions<Float32Array>);
  };
}
