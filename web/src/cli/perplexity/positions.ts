/** How a text is cut: tokens of a window, and by how many it moves. */
export interface Cut {
  window: number;
  stride: number;
}

/**
 * Mean loss by position in the window, over all windows: of each token in the first window that reaches it, which is where it counts.
 *
 * @param losses - of each token of the text, NaN where nothing foresees it.
 * @returns `loss`, [window], NaN where no token stands; and of how many tokens it is the mean.
 */
export function lossByPosition(
  losses: Float64Array,
  { window, stride }: Cut,
): { loss: Float64Array; counted: Uint32Array } {
  const loss = new Float64Array(window);
  const counted = new Uint32Array(window);
  losses.forEach((one, token) => {
    if (Number.isNaN(one)) return;
    const begin = Math.max(0, Math.ceil((token - window + 1) / stride)) * stride;
    loss[token - begin]! += one;
    counted[token - begin]! += 1;
  });
  return { loss: loss.map((sum, position) => sum / counted[position]!), counted };
}

/** Positions of a window in equal parts, the last of which may be shorter; no more parts than positions. */
export function bucketsOf(window: number, buckets: number): { from: number; to: number }[] {
  const width = Math.ceil(window / Math.min(buckets, window));
  return Array.from({ length: Math.ceil(window / width) }, (_, i) => ({
    from: i * width,
    to: Math.min((i + 1) * width, window),
  }));
}
