// Formats the indices of layers.

/** Formats indices as ranges: 0–4, 6. */
export function ranges(indices: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const index of indices) {
    const last = runs.at(-1);
    if (last?.[1] === index - 1) last[1] = index;
    else runs.push([index, index]);
  }
  return runs.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`)).join(", ");
}
