/** Length of the common beginning of two texts: what a session needn't read again. */
export function commonLength(a: readonly number[], b: ArrayLike<number>): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length += 1;
  return length;
}
