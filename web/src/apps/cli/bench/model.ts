// Measures reading a prompt and generating tokens.
import type { Model, Session } from "../../../index.node.js";
import { type BenchLine, summarize, timed } from "./measure.js";

const PROMPT = 512;
/** A short context, to compare generation with that after the whole prompt. */
const EARLY = 16;
/** Generated tokens per measurement. */
const STEPS = 16;
/** Context length that the benchmark needs. */
export const BENCH_CONTEXT = PROMPT + STEPS;

/** Measures a prompt, and generation after a short and a long context. */
export async function benchModel(
  model: Model,
  rounds: number,
  signal: AbortSignal,
  onRound: (done: number, total: number) => void,
): Promise<BenchLine[]> {
  const session = model.session({ contextLength: BENCH_CONTEXT });
  try {
    const samples = { prompt: [] as number[], early: [] as number[], late: [] as number[] };
    await session.append(tokensOf(model, PROMPT), { signal }); // warm-up: engines optimize code while it runs
    for (let round = 0; round < rounds; round++) {
      session.rewind(0);
      samples.prompt.push((1000 * PROMPT) / (await timed(() => session.append(tokensOf(model, PROMPT), { signal }))));
      samples.late.push(await generationSpeed(model, session, PROMPT, signal));
      samples.early.push(await generationSpeed(model, session, EARLY, signal));
      onRound(round + 1, rounds);
    }
    return [
      { name: `prompt of ${PROMPT} tokens`, unit: "tokens/s", ...summarize(samples.prompt) },
      { name: `generation after ${EARLY} tokens`, unit: "tokens/s", ...summarize(samples.early) },
      { name: `generation after ${PROMPT} tokens`, unit: "tokens/s", ...summarize(samples.late) },
    ];
  } finally {
    session.dispose();
  }
}

/** Tokens per second, including the logits after each token. */
async function generationSpeed(model: Model, session: Session, after: number, signal: AbortSignal): Promise<number> {
  session.rewind(after);
  const tokens = tokensOf(model, STEPS);
  const milliseconds = await timed(async () => {
    for (const token of tokens) await session.append([token], { signal });
  });
  return (1000 * STEPS) / milliseconds;
}

/** Arbitrary tokens: the time doesn't depend on them. */
function tokensOf({ info }: Model, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (3 + i * 37) % info.vocabularySize);
}
