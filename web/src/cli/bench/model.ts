import type { Model, Session } from "../../index.node.js";
import { type BenchLine, spreadOf, timed } from "./rounds.js";

const PROMPT = 512;
const EARLY = 16;
/** Tokens generated in a sample. */
const STEPS = 16;
/** What a session must hold. */
export const BENCH_CONTEXT = PROMPT + STEPS;

/** A prompt, and tokens one by one after a short and a long text. */
export async function benchModel(
  model: Model,
  rounds: number,
  signal: AbortSignal,
  onRound: (done: number, total: number) => void,
): Promise<BenchLine[]> {
  const session = model.session({ contextLength: BENCH_CONTEXT });
  try {
    const samples = { prompt: [] as number[], early: [] as number[], late: [] as number[] };
    await session.append(tokensOf(model, PROMPT), { signal }); // engines compile while they run
    for (let round = 0; round < rounds; round++) {
      session.rewind(0);
      samples.prompt.push((1000 * PROMPT) / (await timed(() => session.append(tokensOf(model, PROMPT), { signal }))));
      samples.late.push(await decoding(model, session, PROMPT, signal));
      samples.early.push(await decoding(model, session, EARLY, signal));
      onRound(round + 1, rounds);
    }
    return [
      { name: `prompt of ${PROMPT} tokens`, unit: "tokens/s", ...spreadOf(samples.prompt) },
      { name: `generation after ${EARLY} tokens`, unit: "tokens/s", ...spreadOf(samples.early) },
      { name: `generation after ${PROMPT} tokens`, unit: "tokens/s", ...spreadOf(samples.late) },
    ];
  } finally {
    session.dispose();
  }
}

/** Tokens a second, each with the logits that follow it. */
async function decoding(model: Model, session: Session, after: number, signal: AbortSignal): Promise<number> {
  session.rewind(after);
  const tokens = tokensOf(model, STEPS);
  const milliseconds = await timed(async () => {
    for (const token of tokens) await session.append([token], { signal });
  });
  return (1000 * STEPS) / milliseconds;
}

/** Which tokens they are does not matter to the time. */
function tokensOf({ info }: Model, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (3 + i * 37) % info.vocabularySize);
}
