// The small model writes a story four times as long as those it was trained on: with plain RoPE, with YaRN, and with weights fine-tuned under
// YaRN. The story asks questions about its own facts, and the share of right answers shows what the model remembers.
//
//   node examples/long_story.mjs [seed]
import { join } from "node:path";
import { load } from "ropewalk";
import { describeRope, speed } from "./model_text.js";
import { answersIn, words } from "./small_model/stories.mjs";
import { answersBySpan, TRAINED_LENGTH } from "./small_model/texts.mjs";

const FACTOR = 4;
const length = FACTOR * TRAINED_LENGTH;
const beginning = "The red ball is in the garden.";
const seed = Number(process.argv[2] ?? 1);
const folder = join(import.meta.dirname, "small_model/");
const yarn = { rope_scaling: { rope_type: "yarn", factor: FACTOR, original_max_position_embeddings: TRAINED_LENGTH } };

const rw = await load();

/** Generates a story; prints its end and, for each quarter, how many questions are answered with the place named last. */
async function writeStory(name, source, rope) {
  const model = await rw.model(source, { rope, contextLength: length });
  let [text, count] = [beginning, 0];
  const start = performance.now();
  const maxTokens = length - model.tokenizer.encode(beginning).length;
  for await (const piece of model.generate(beginning, { maxTokens, seed, temperature: 0.8 })) {
    text += piece.text;
    count += 1;
  }
  const took = speed(count, performance.now() - start);
  const quarters = answersBySpan(answersIn(text), length).map(({ asked, right }) => `${right} of ${asked}`);
  console.log(`${name}: RoPE ${describeRope(model.rope)}; ${words(text).length} words, ${took}`);
  console.log(`  right answers by quarter    ${quarters.map((quarter) => quarter.padEnd(10)).join("")}`);
  console.log(
    `  last words                  …${text
      .slice(-150)
      .replace(/^\S* /, " ")
      .replace(/(.{1,72})(?: |$)/g, "$1\n                              ")
      .trimEnd()}\n`,
  );
  model.dispose();
}

console.log(`Stories of ${length} words, by a model trained on ${TRAINED_LENGTH}. They begin: "${beginning}"\n`);
await writeStory("Plain RoPE, as trained", folder);
await writeStory("YaRN, same weights", folder, yarn);
await writeStory("Fine-tuned under YaRN", join(folder, "yarn/"));
