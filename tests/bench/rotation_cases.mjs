// Benchmark cases of rotation in place. Most lines are ratios within this run.
import { race, ratio, repeatedly } from "./measure.mjs";

export const HEADS = 32;
export const HEAD_DIM = 128;
export const PAIRS = HEAD_DIM / 2;
export const QWEN = { head_dim: HEAD_DIM, rope_theta: 1e6 };
const PAIRINGS = ["half", "interleaved"]; // in the core's order
const DTYPES = ["f32", "f16", "bf16"];
const HALF = { f32: 0.5, f16: 0x3800, bf16: 0x3f00 }; // a half, as its array has it

/** Takes the arguments of runCases (cases.mjs). */
export function runCases({ rw, module, report }) {
  for (const tokens of [512, 4096]) {
    for (const dtype of DTYPES) rotationAgainstLimit(rw, module, { tokens, dtype }, report);
    comparedWithLoops(rw, module, tokens, report);
  }
}

/** A tensor to rotate, ropes of both pairings, and rows of cos and sin for the kernel alone. */
export function fixtures(rw, tokens, dtype) {
  const tensor = rw.tensor([tokens, HEADS, HEAD_DIM], dtype);
  tensor.data.fill(HALF[dtype]);
  const ropes = Object.fromEntries(PAIRINGS.map((pairing) => [pairing, rw.rope({ ...QWEN, pairing })]));
  const rows = { cos: rw.tensor([tokens, PAIRS]), sin: rw.tensor([tokens, PAIRS]) };
  ropes.half.table(tokens, { out: rows });
  const options = { layout: "thd", positions: 0 };
  return {
    tensor,
    bytes: tensor.data.byteLength,
    rotate: (pairing) => repeatedly(() => ropes[pairing].rotate(tensor, options)),
    kernel:
      (module, pairing, scalar = false) =>
      (repeats) =>
        module._rotate_alone(
          tensor.data.byteOffset,
          PAIRINGS.indexOf(pairing),
          DTYPES.indexOf(dtype),
          rows.cos.data.byteOffset,
          rows.sin.data.byteOffset,
          tokens,
          HEADS,
          HEAD_DIM,
          scalar,
          repeats,
        ),
    dispose: () => [tensor, rows.cos, rows.sin, ...Object.values(ropes)].forEach((object) => object.dispose()),
  };
}

/** Goals of in-place rotation, as shares of an in-place multiply. */
const GOALS = {
  512: { f32: { half: 0.75, interleaved: 0.65 } },
  4096: { f32: { half: 0.9, interleaved: 0.85 }, f16: { half: 0.6, interleaved: 0.6 } },
};

/** In cache, the kernel's share of a loop of nothing but its loads, arithmetic and stores. */
const BOUND_GOAL = 0.9;

function rotationAgainstLimit(rw, module, { tokens, dtype }, report) {
  const work = fixtures(rw, tokens, dtype);
  const { byteOffset } = work.tensor.data;
  const bound = (pairing) => (repeats) =>
    module._rotate_bound(byteOffset, PAIRINGS.indexOf(pairing), DTYPES.indexOf(dtype), work.tensor.length, repeats);
  const results = race({
    limit: (repeats) => module[`_multiply_${dtype}`](byteOffset, work.tensor.length, 1, repeats),
    ...Object.fromEntries(
      PAIRINGS.flatMap((pairing) => [
        [pairing, work.rotate(pairing)],
        [`kernel ${pairing}`, work.kernel(module, pairing)],
        [`bound ${pairing}`, bound(pairing)],
      ]),
    ),
  });
  const at = `T = ${tokens}, ${dtype}`;
  report({
    name: `${at}: limit (in-place multiply), bytes read and written`,
    value: (work.bytes * 2) / results.limit.us / 1000,
    unit: "GB/s",
  });
  for (const pairing of PAIRINGS) {
    const line = (name, reference, contender, target) =>
      report({ name: `${at}: ${pairing} ${name}`, value: ratio(results, reference, contender), unit: "×", target });
    line("in place, share of the limit", "limit", pairing, GOALS[tokens][dtype]?.[pairing]);
    line("kernel only, share of the limit", "limit", `kernel ${pairing}`);
    line("bound (its loads, arithmetic and stores), share of the limit", "limit", `bound ${pairing}`);
    line(
      "kernel only, share of the bound",
      `bound ${pairing}`,
      `kernel ${pairing}`,
      tokens === 512 ? BOUND_GOAL : undefined,
    );
  }
  work.dispose();
}

function comparedWithLoops(rw, module, tokens, report) {
  const work = fixtures(rw, tokens, "f32");
  const copy = rw.tensor([tokens, HEADS, HEAD_DIM]);
  const results = race({
    limit: (repeats) => module._multiply_f32(work.tensor.data.byteOffset, work.tensor.length, 1, repeats),
    copy: (repeats) => module._copy_bytes(copy.data.byteOffset, work.tensor.data.byteOffset, work.bytes, repeats),
    half: work.rotate("half"),
    scalar: work.kernel(module, "half", true),
    javascript: javascriptLoop(tokens),
  });
  const line = (name, reference, contender, unit) =>
    report({ name: `T = ${tokens}: ${name}`, value: ratio(results, reference, contender), unit });
  line("memory.copy, share of the limit", "limit", "copy", "×");
  line("half, compared with the scalar kernel", "scalar", "half", "× faster");
  line("half, compared with a JavaScript loop", "javascript", "half", "× faster");
  copy.dispose();
  work.dispose();
}

/** RoPE as commonly written in JavaScript: a loop over Float32Arrays with a table. */
function javascriptLoop(tokens) {
  const x = new Float32Array(tokens * HEADS * HEAD_DIM).fill(0.5);
  const cos = new Float32Array(tokens * PAIRS).fill(0.8);
  const sin = new Float32Array(tokens * PAIRS).fill(0.6);
  return repeatedly(() => {
    for (let t = 0; t < tokens; t++) {
      for (let h = 0; h < HEADS; h++) {
        const head = (t * HEADS + h) * HEAD_DIM;
        for (let j = 0; j < PAIRS; j++) {
          const c = cos[t * PAIRS + j];
          const s = sin[t * PAIRS + j];
          const a = x[head + j];
          const b = x[head + j + PAIRS];
          x[head + j] = a * c - b * s;
          x[head + j + PAIRS] = b * c + a * s;
        }
      }
    }
  });
}
