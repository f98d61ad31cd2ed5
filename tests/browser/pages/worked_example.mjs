// One head of four elements at position 1, small enough to check on paper:
//
//   half pairs (1, 3) by 1 radian and (2, 4) by 10000^(-1/2) = 0.01
//   1 cos 1 - 3 sin 1, 2 cos 0.01 - 4 sin 0.01, 3 cos 1 + 1 sin 1, 4 cos 0.01 + 2 sin 0.01

export const WORKED_EXAMPLE = ["-1.984111", "1.959901", "2.462378", "4.019800"];

/** The rotated numbers by a loaded module, with six decimals. */
export function workedExample(rw) {
  const rope = rw.rope({ head_dim: 4, rope_theta: 10000, pairing: "half" });
  const rotated = rope.rotate(Float32Array.of(1, 2, 3, 4), { layout: "thd", shape: [1, 1, 4], positions: 1 });
  rope.dispose();
  return Array.from(rotated, (value) => value.toFixed(6));
}
