// Benchmark cases, the same in Node and in a page. Most lines are ratios within this run.
import { runCases as runAttentionCases } from "./attention_cases.mjs";
import { race, raceAsync, ratio, repeatedly } from "./measure.mjs";
import { fixtures, HEAD_DIM, HEADS, PAIRS, QWEN, runCases as runRotationCases } from "./rotation_cases.mjs";

/**
 * @param rw - the package's API, running on `module`.
 * @param module - the benchmark's wasm module: the package's functions and those of limits.cpp, with one memory.
 * @param peer - `(tokens) => Promise<(repeats) => Promise>`, which runs onnxruntime-web's RotaryEmbedding; undefined to skip it.
 * @param report - called with each line: { name, value, unit, target?, better? }.
 */
export async function runCases({ rw, module, peer, report }) {
  runAttentionCases({ rw, module, report });
  runRotationCases({ rw, module, report });
  await oneToken(rw, module, peer, report);
  if (peer !== undefined) await againstPeer(rw, module, peer, report);
  tables(rw, report);
  cycles(rw, report);
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

function javascriptTable(inv_freq, positions, { cos, sin }) {
  for (let p = 0, i = 0; p < positions; p++) {
    for (let j = 0; j < PAIRS; j++, i++) {
      const angle = p * inv_freq[j];
      cos[i] = Math.cos(angle);
      sin[i] = Math.sin(angle);
    }
  }
}
