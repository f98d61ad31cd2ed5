// Attention of long prompts over an f16 cache, and their memory: `npm run bench -- prompts`.
import { fill, fillCache, promptMemory, ROPE, SHAPES } from "./attention_cases.mjs";
import { race, ratio, repeatedly } from "./measure.mjs";

const PROMPTS = [8192, 32768];
/** Queries that are measured. */
const COUNT = 64;
/** The peak is measured with this part of the multiply-adds. */
const SHARE = 1 / 16;

export function runCases({ rw, module, report }) {
  promptMemory(rw, report); // first, as wasm memory never shrinks
  for (const tokens of PROMPTS) for (const shape of SHAPES) promptEnd(rw, module, tokens, shape, report);
}

/** The last queries of a long prompt over an f16 cache, which see nearly all of its keys. */
function promptEnd(rw, module, tokens, [heads, kvHeads, headDim], report) {
  const rope = { ...ROPE, head_dim: headDim };
  const cache = fillCache(rw, rw.kvCache({ rope, kvHeads, maxLength: tokens, dtype: "f16" }), tokens, [
    kvHeads,
    headDim,
  ]);
  const [q, out] = [0, 0].map(() => fill(rw.tensor([COUNT, heads, headDim])));
  const multiplyAdds = COUNT * (2 * tokens - COUNT + 1) * heads * headDim;
  const results = race(
    {
      multiply: repeatedly(() => module._multiply_add(Math.round((SHARE * multiplyAdds) / 48), 1)),
      attend: repeatedly(() => cache.attend(q, { layout: "thd", out })),
    },
    { rounds: 15, sampleMs: 1 },
  );
  report({
    name: `end of a prompt of ${tokens}, f16, ${heads}/${kvHeads} heads of ${headDim}: share of the multiply-add peak`,
    value: ratio(results, "multiply", "attend") / SHARE,
    unit: "×",
    target: 0.7,
  });
  for (const object of [cache, q, out]) object.dispose();
}
