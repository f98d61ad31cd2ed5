// How far a text already contains the beginning of another.

/** Length of the longest proper prefix of `wanted` that `text` ends with. @internal */
export function overlap(text: string, wanted: string): number {
  for (let length = Math.min(text.length, wanted.length - 1); length > 0; length--) {
    if (text.endsWith(wanted.slice(0, length))) return length;
  }
  return 0;
}
