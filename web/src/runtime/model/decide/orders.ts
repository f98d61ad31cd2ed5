// The orders in which options are listed.

/**
 * Orders of `count` options that differ, `most` or as many as there are: the given one, its reverse, and both from other options on. A model prefers
 * some places, and in all `2 * count` orders each option is in each place equally often.
 * @internal
 */
export function ordersOf(count: number, most: number): number[][] {
  const given = Array.from({ length: count }, (_, i) => i);
  const reversed = given.slice().reverse();
  const asked = Math.min(most, count === 2 ? 2 : 2 * count);
  const pairs = Math.ceil(asked / 2);
  return Array.from({ length: asked }, (_, i) => {
    const from = Math.floor((Math.floor(i / 2) * count) / pairs);
    const order = i % 2 === 0 ? given : reversed;
    return [...order.slice(from), ...order.slice(0, from)];
  });
}
