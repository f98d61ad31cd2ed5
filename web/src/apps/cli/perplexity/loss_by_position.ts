// Averages losses by position in the window.

/** How a text is split into windows: tokens per window, and tokens between the starts of two windows. */
export interface WindowOptions {
  window: number;
  stride: number;
}

/**
 * Mean loss by position in the window. A token counts in the first window that contains it.
 *
 * @param losses - loss of each token of the text, NaN for tokens without a prediction
 * @returns `loss` [window], NaN for positions without tokens, and `counted` [window], the number of tokens in each mean
 */
export function lossByPosition(
  losses: Float64Array,
  { window, stride }: WindowOptions,
): { loss: Float64Array; counted: Uint32Array } {
  const loss = new Float64Array(window);
  const counted = new Uint32Array(window);
  losses.forEach((value, token) => {
    if (Number.isNaN(value)) return;
    const begin = Math.max(0, Math.ceil((token - window + 1) / stride)) * stride;
    loss[token - begin]! += value;
    counted[token - begin]! += 1;
  });
  return { loss: loss.map((sum, position) => sum / counted[position]!), counted };
}

/** Splits the positions of a window into equal buckets. The last one may be shorter, and none is empty. */
export function bucketsOf(window: number, buckets: number): { from: number; to: number }[] {
  const width = Math.ceil(window / Math.min(buckets, window));
  return Array.from({ length: Math.ceil(window / width) }, (_, i) => ({
    from: i * width,
    to: Math.min((i + 1) * width, window),
  }));
}
