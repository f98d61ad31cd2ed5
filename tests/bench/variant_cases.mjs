// Benchmark cases that compare ways to rotate a tensor in place (variants.cpp): `npm run bench -- variants`. Each line is a share of the
// limit of the same run, an in-place multiply of the same bytes.
import { race, ratio } from "./measure.mjs";

const HEADS = 32;
const HEAD_DIM = 128;
const PAIRS = HEAD_DIM / 2;
const LINE_BYTES = 64;
const PAIRINGS = ["half", "interleaved"];

/** Heads and pairs of a step, and the heads whose lines are read before they are rotated. */
const VARIANTS = [
  ...[1, 2].flatMap((heads) => [8, 16, 32, 64].map((pairs) => ({ heads, pairs, piece: 0 }))),
  ...[8, 32].flatMap((piece) => [1, 2].map((heads) => ({ heads, pairs: 8, piece }))),
];

const nameOf = ({ heads, pairs, piece }) =>
  `${heads === 1 ? "1 head" : "2 heads"} × ${pairs} pairs${piece === 0 ? "" : `, ${piece} heads read ahead`}`;

export function runCases({ rw, module, report }) {
  for (const tokens of [512, 4096]) {
    // Prefetchers treat heads that start at a multiple of their size differently from all others.
    for (const shift of [0, LINE_BYTES]) compare(rw, module, tokens, shift, report);
  }
}

function compare(rw, module, tokens, shift, report) {
  const bytes = 4 * HEADS * HEAD_DIM * tokens;
  const size = 4 * HEAD_DIM;
  const tensor = rw.tensor([tokens * HEADS * HEAD_DIM + 2 * HEAD_DIM]);
  tensor.data.fill(0.5);
  const start = Math.ceil(tensor.data.byteOffset / size) * size + shift;
  const rows = { cos: rw.tensor([tokens, PAIRS]), sin: rw.tensor([tokens, PAIRS]) };
  const rope = rw.rope({ head_dim: HEAD_DIM, rope_theta: 1e6, pairing: "half" });
  rope.table(tokens, { out: rows });
  const variant = (interleaved, { heads, pairs, piece }, tokenStride) => {
    const [cos, sin] = [rows.cos.data.byteOffset, rows.sin.data.byteOffset];
    return (repeats) =>
      module._rotate_variant(
        start,
        interleaved,
        heads,
        pairs,
        piece,
        cos,
        sin,
        tokens,
        HEADS,
        HEAD_DIM,
        tokenStride,
        repeats,
      );
  };
  for (const [interleaved, pairing] of PAIRINGS.entries()) {
    const contenders = { limit: (repeats) => module._multiply_f32(start, bytes / 4, 1, repeats) };
    for (const choice of VARIANTS) {
      contenders[nameOf(choice)] = variant(interleaved, choice, HEADS * HEAD_DIM);
      if (tokens === 512 && choice.piece === 0)
        contenders[`${nameOf(choice)}, one token again and again`] = variant(interleaved, choice, 0);
    }
    const results = race(contenders, { rounds: 9, sampleMs: 4 });
    for (const name of Object.keys(contenders).slice(1)) {
      const place = `T = ${tokens}, ${shift === 0 ? "aligned" : "shifted"}, ${pairing}`;
      report({ name: `${place}: ${name}`, value: ratio(results, "limit", name), unit: "×" });
    }
  }
  for (const object of [tensor, rows.cos, rows.sin, rope]) object.dispose();
}
