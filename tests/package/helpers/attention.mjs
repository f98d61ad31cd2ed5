// Reference implementation of attention, in f64 and one score at a time.

const extentsOf = (layout, shape) =>
  Object.fromEntries([..."bthd"].map((name) => [name, layout.includes(name) ? shape[layout.indexOf(name)] : 1]));

/** Index of the first element of head h of token t of batch row b. */
function indexer(layout, shape) {
  const { b: _, t: tokens, h: heads, d } = extentsOf(layout, shape);
  return layout === "bhtd"
    ? (b, t, h) => ((b * heads + h) * tokens + t) * d
    : (b, t, h) => ((b * tokens + t) * heads + h) * d;
}

/** Whether query t of T attends to key n of N. */
function isVisible(t, tokens, n, kvTokens, { causal, window, sinkTokens }) {
  const slot = kvTokens - tokens + t;
  if (causal && n > slot) return false;
  return Math.abs(n - slot) < window || n < sinkTokens;
}

/**
 * softmax(q kᵀ · scale, capped, biased, masked) v.
 * @param bias - (head, batch, query token, key token) → number added to the score.
 * @returns the outputs in q's layout, f64, and the largest |score| before the cap for tolerances.
 */
export function referenceAttention(q, k, v, options) {
  const {
    layout,
    shape,
    kvShape = shape,
    causal = true,
    sinkTokens = 0,
    sinks,
    softCap,
    temperature,
    bias = () => 0,
  } = options;
  const window = options.window ?? Infinity;
  const { b: batches, t: tokens, h: heads, d } = extentsOf(layout, shape);
  const { t: kvTokens, h: kvHeads } = extentsOf(layout, kvShape);
  const { scale = 1 / Math.sqrt(d) } = options;
  const [at, kvAt] = [indexer(layout, shape), indexer(layout, kvShape)];
  const out = new Float64Array(q.length);
  let largest = 0;
  for (let b = 0; b < batches; b++) {
    for (let h = 0; h < heads; h++) {
      const kvHead = Math.floor(h / (heads / kvHeads));
      for (let t = 0; t < tokens; t++) {
        const query = at(b, t, h);
        const seen = [];
        for (let n = 0; n < kvTokens; n++) {
          if (!isVisible(t, tokens, n, kvTokens, { causal, window, sinkTokens })) continue;
          const key = kvAt(b, n, kvHead);
          let score = 0;
          for (let i = 0; i < d; i++) score += q[query + i] * k[key + i];
          score *= scale * (temperature?.[t] ?? 1);
          largest = Math.max(largest, Math.abs(score));
          if (softCap) score = softCap * Math.tanh(score / softCap);
          seen.push({ score: score + bias(h, b, t, n), value: key });
        }
        const most = Math.max(sinks?.[h] ?? -Infinity, ...seen.map(({ score }) => score));
        let sum = sinks === undefined || sinks === null ? 0 : Math.exp(sinks[h] - most);
        for (const { score, value } of seen) {
          const weight = Math.exp(score - most);
          sum += weight;
          for (let i = 0; i < d; i++) out[query + i] += weight * v[value + i];
        }
        for (let i = 0; i < d; i++) out[query + i] = sum === 0 ? 0 : out[query + i] / sum;
      }
    }
  }
  return { out, largest };
}

/**
 * Tolerance of f32 attention. A score consists of four partial sums of d/4 products each, their three additions and the scale, so its error is at
 * most (d/4 + 6) · 2^-24 of the sum of its terms' magnitudes. That sum is at most √d of the largest score for random vectors, and ten times that
 * for all vectors here. exp adds 4 · 2^-24. An error of e in every score changes a weighted mean of values of at most `reach` by 2 · e · reach.
 * Summing N weights and N values adds (N/4 + 4) · 2^-24 · reach each.
 */
export function attentionTolerance(d, kvTokens, largest, reach = 2) {
  const score = (d / 4 + 6) * Math.max(1, largest) * 10 + 4;
  return 2 ** -24 * reach * 2 * (score + kvTokens / 4 + 4);
}

/** The extents of a tensor, by name. */
export const shapeIn = (layout, { b = 1, t, h, d }) => [...layout].map((name) => ({ b, t, h, d })[name]);

/** Reorders a tensor [b, t, h, d] to another layout. */
export function inLayout(values, layout, { b = 1, t, h, d }) {
  if (layout !== "bhtd") return values.slice();
  const result = values.slice();
  for (let row = 0; row < b; row++) {
    for (let token = 0; token < t; token++) {
      for (let head = 0; head < h; head++) {
        const from = ((row * t + token) * h + head) * d;
        result.set(values.subarray(from, from + d), ((row * h + head) * t + token) * d);
      }
    }
  }
  return result;
}
