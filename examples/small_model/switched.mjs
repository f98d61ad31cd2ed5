// One story of 2,048 tokens, read with plain RoPE up to a word and then under each scaling: the cached keys are re-rotated there, and nothing is
// read again. The first view of the RoPE Lab's live model shows the result.
//
//   node examples/small_model/switched.mjs     takes seconds; writes results/switched.json
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { load } from "ropewalk/worker";
import { readStory } from "./reading.mjs";
import { overridesFor, scalings } from "./scalings.mjs";
import { textOf, tokensOf } from "./texts.mjs";
import { isMain } from "../is_main.mjs";

/** The story, and the token before which the RoPE is switched. */
export const SWITCHED = { seed: 1, length: 2048, at: 768 };

/** Reads the story: `{ losses, answers }`, with each answer as `[at, distance, 1 if right, word]`. */
export async function readSwitched(rw, model, later) {
  const { seed, length, at } = SWITCHED;
  const text = textOf({ seed, length });
  const session = await model.session({ contextLength: length });
  await session.retune(overridesFor("none", length));
  const [losses, answers] = [[], []];
  const before = (token) => (token === at ? session.retune(overridesFor(later, length)) : undefined);
  for await (const step of readStory(session, await tokensOf(model, text), text.questions, before)) {
    losses.push(Number.isNaN(step.loss) ? null : Number(step.loss.toPrecision(3)));
    for (const answer of step.answers) {
      const word = (await model.tokenizer.decode([answer.token])).trim();
      answers.push([answer.at, answer.distance, Number(answer.isRight), word]);
    }
  }
  await session.dispose();
  return { losses, answers };
}

if (isMain(import.meta.url)) {
  const rw = await load({ build: "simd", threads: 1 }); // computes the same bits everywhere
  const model = await rw.model(await readFile(join(import.meta.dirname, "model.q8_0.gguf")));
  const { at } = SWITCHED;
  const runs = {};
  for (const name of Object.keys(scalings)) runs[name] = await readSwitched(rw, model, name);
  const part = ({ losses, answers }, isPart) => ({
    losses: losses.filter((_, i) => isPart(i)),
    answers: answers.filter(([i]) => isPart(i)),
  });
  const written = {
    ...SWITCHED,
    before: part(runs.none, (i) => i < at),
    after: Object.fromEntries(Object.entries(runs).map(([name, run]) => [name, part(run, (i) => i >= at)])),
  };
  await writeFile(join(import.meta.dirname, "results", "switched.json"), `${JSON.stringify(written)}\n`);
  for (const [name, { answers }] of [["before", written.before], ...Object.entries(written.after)])
    console.log(`${name}: ${answers.filter(([, , right]) => right === 1).length} of ${answers.length} right`);
  await rw.dispose();
}
