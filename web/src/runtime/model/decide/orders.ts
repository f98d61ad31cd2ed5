// The orders in which options are listed.

/**
 * Orders of `count` options that differ, at most `most`: the given one, its reverse, and both from other options on. A model prefers some places,
 * and in `2 * count` orders each option is in each place equally often.
 * @internal
 */
export function ordersOf(count: number, most: number): number[][] {
  const given = Array.from({ length: count }, (_, i) => i);
  const reversed = given.slice().reverse();
  const pairs = Math.ceil(most / 2);
  const orders = new Map<string, number[]>();
  for (let i = 0; i < most; i++) {
    const from = Math.floor((Math.floor(i / 2) * count) / pairs);
    const order = i % 2 === 0 ? given : reversed;
    const turned = [...order.slice(from), ...order.slice(0, from)];
    if (!orders.has(turned.join())) orders.set(turned.join(), turned);
  }
  return [...orders.values()];
}
