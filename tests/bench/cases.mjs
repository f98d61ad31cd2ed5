// Benchmark cases, the same in Node and in a page. Most lines are ratios within this run.
import { runAttentionCases } from "./attention_cases.mjs";
import { race, raceAsync, ratio } from "./measure.mjs";

const HEADS = 32;
const HEAD_DIM = 128;
const PAIRS = HEAD_DIM / 2;
const QWEN = { head_dim: HEAD_DIM, rope_theta: 1e6 };
const PAIRINGS = ["half", "interleaved"]; // in the core's order
const DTYPES = ["f32", "f16", "bf16"];
const HALF = { f32: 0.5, f16: 0x3800, bf16: 0x3f00 }; // a half, as its array has it

/**
 * @param rw - the package's API, running on `module`.
 * @param module - the benchmark's wasm module: the package's functions and those of limits.cpp, with one memory.
 * @param peer - `(tokens) => Promise<(repeats) => Promise>`, which runs onnxruntime-web's RotaryEmbedding; undefined to skip it.
 * @param report - called with each line: { name, value, unit, target?, better? }.
 */
export async function runCases({ rw, module, peer, report }) {
  runAttentionCases({ rw, module, report });
  for (const tokens of [512, 4096]) {
    for (const dtype of DTYPES) rotationAgainstLimit(rw, module, { tokens, dtype }, report);
    comparedWithLoops(rw, module, tokens, report);
  }
  await oneToken(rw, module, peer, report);
  if (peer !== undefined) await againstPeer(rw, module, peer, report);
  tables(rw, report);
  cycles(rw, report);
}

/** A tensor to rotate, ropes of both pairings, and rows of cos and sin for the kernel alone. */
function fixtures(rw, tokens, dtype) {
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

async function oneToken(rw, module, peer, report) {
  const work = fixtures(rw, 1, "f32");
  const rope = rw.rope({ ...QWEN, pairing: "half" });
  const array = new Float32Array(HEADS * HEAD_DIM).fill(0.5);
  let position = 0;
  const tensor = work.rotate("half");
  const contenders = {
    kernel: work.kernel(module, "half"),
    tensor,
    next: repeatedly(() => rope.rotate(work.tensor, { layout: "thd", positions: position++ % 100000 })),
    array: repeatedly(() => rope.rotate(array, { layout: "thd", shape: [1, HEADS, HEAD_DIM], positions: 7 })),
  };
  const results = race(contenders, { rounds: 31, sampleMs: 4 });
  const over = (name) => results[name].us - results.kernel.us;
  report({ name: "T = 1: kernel only", value: results.kernel.us, unit: "µs" });
  report({
    name: "T = 1: overhead of the API with a Tensor",
    value: over("tensor"),
    unit: "µs",
    target: 1.5,
    better: "less",
  });
  report({ name: "T = 1: the same, at a new position each time", value: over("next"), unit: "µs" });
  report({ name: "T = 1: overhead of the API with a Float32Array", value: over("array"), unit: "µs" });
  if (peer !== undefined) {
    const batch = 100; // calls for each call of the peer, so that both take about as long
    const against = await raceAsync({ peer: await peer(1), tensor: async (repeats) => tensor(repeats * batch) });
    report({
      name: "T = 1: a Tensor, compared with onnxruntime-web",
      value: ratio(against, "peer", "tensor") * batch,
      unit: "× faster",
      target: 15,
    });
  }
  rope.dispose();
  work.dispose();
}

async function againstPeer(rw, module, peer, report) {
  const tokens = 4096;
  const work = fixtures(rw, tokens, "f32");
  const rope = rw.rope({ ...QWEN, pairing: "half" });
  const array = new Float32Array(work.tensor.length).fill(0.5);
  const rotateArray = repeatedly(() =>
    rope.rotate(array, { layout: "thd", shape: [tokens, HEADS, HEAD_DIM], positions: 0 }),
  );
  const rotateTensor = work.rotate("half");
  const results = await raceAsync({
    peer: await peer(tokens),
    tensor: async (repeats) => rotateTensor(repeats),
    array: async (repeats) => rotateArray(repeats),
    limit: async (repeats) => module._multiply_f32(work.tensor.data.byteOffset, work.tensor.length, 1, repeats),
  });
  const name = "T = 4096: a Float32Array, including copies, compared with onnxruntime-web";
  report({ name, value: ratio(results, "peer", "array"), unit: "× faster", target: 8 });
  report({
    name: "T = 4096: a Tensor, compared with onnxruntime-web",
    value: ratio(results, "peer", "tensor"),
    unit: "× faster",
    target: 25,
  });
  report({
    name: "T = 4096: the limit, compared with onnxruntime-web",
    value: ratio(results, "peer", "limit"),
    unit: "× faster",
  });
  rope.dispose();
  work.dispose();
}

function tables(rw, report) {
  const positions = 131072;
  const rope = rw.rope({ ...QWEN, pairing: "half" });
  const inv_freq = rope.plan().inv_freq;
  const arrays = { cos: new Float32Array(positions * PAIRS), sin: new Float32Array(positions * PAIRS) };
  const tensors = { cos: rw.tensor([positions, PAIRS]), sin: rw.tensor([positions, PAIRS]) };
  const results = race(
    {
      javascript: repeatedly(() => javascriptTable(inv_freq, positions, arrays)),
      arrays: repeatedly(() => rope.table(positions, { out: arrays })),
      tensors: repeatedly(() => rope.table(positions, { out: tensors })),
      fresh: repeatedly(() => rope.table(positions)),
    },
    { rounds: 9 },
  );
  const name = "table of 131072 × 64 angles, compared with Math.cos and Math.sin";
  report({ name, value: ratio(results, "javascript", "arrays"), unit: "× faster", target: 6 });
  report({ name: `${name}, into Tensors`, value: ratio(results, "javascript", "tensors"), unit: "× faster" });
  report({ name: `${name}, into new arrays`, value: ratio(results, "javascript", "fresh"), unit: "× faster" });
  tensors.cos.dispose();
  tensors.sin.dispose();
  rope.dispose();
}

function cycles(rw, report) {
  const cycle = () => {
    const rope = rw.rope({ ...QWEN, pairing: "half" });
    const tensor = rw.tensor([4, HEADS, HEAD_DIM]);
    rope.rotate(tensor, { layout: "thd", positions: 0 });
    tensor.dispose();
    rope.dispose();
  };
  for (let i = 0; i < 100; i++) cycle();
  const before = rw.memoryBytes;
  for (let i = 0; i < 10000; i++) cycle();
  report({
    name: "10,000 cycles of create, rotate, dispose: heap growth",
    value: rw.memoryBytes - before,
    unit: "bytes",
    target: 0,
    better: "less",
  });
}

function repeatedly(call) {
  return (repeats) => {
    for (let i = 0; i < repeats; i++) call();
  };
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

function javascriptTable(inv_freq, positions, { cos, sin }) {
  for (let p = 0, i = 0; p < positions; p++) {
    for (let j = 0; j < PAIRS; j++, i++) {
      const angle = p * inv_freq[j];
      cos[i] = Math.cos(angle);
      sin[i] = Math.sin(angle);
    }
  }
}
