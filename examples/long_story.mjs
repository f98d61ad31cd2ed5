// The small model tells a story four times as long as those it was trained on: plainly, under YaRN, and by the weights that were fine-tuned under
// it. Its own questions show whether it still knows what it has told.
//
//   node examples/long_story.mjs [seed]
import { join } from "node:path";
import { load } from "ropewalk";
import { describeRope, speed } from "./model_text.js";
import { answersIn, words } from "./small_model/stories.mjs";
import { answersByStretch, TRAINED_LENGTH } from "./small_model/texts.mjs";

const FACTOR = 4;
const length = FACTOR * TRAINED_LENGTH;
const beginning = "The red ball is in the garden.";
const seed = Number(process.argv[2] ?? 1);
const folder = join(import.meta.dirname, "small_model/");
const yarn = { rope_scaling: { rope_type: "yarn", factor: FACTOR, original_max_position_embeddings: TRAINED_LENGTH } };

const rw = await load();

/** Tells a story, and shows its end, and how many questions of each quarter are answered with the place that the story has last named. */
async function tell(name, source, rope) {
  const model = await rw.model(source, { rope, contextLength: length });
  let [text, count] = [beginning, 0];
  const start = performance.now();
  const maxTokens = length - model.tokenizer.encode(beginning).length;
  for await (const piece of model.generate(beginning, { maxTokens, seed, temperature: 0.8 })) {
    text += piece.text;
    count += 1;
  }
  const took = speed(count, performance.now() - start);
  const quarters = answersByStretch(answersIn(text), length).map(({ asked, right }) => `${right} of ${asked}`);
  console.log(`${name}: RoPE ${describeRope(model.rope)}; ${words(text).length} words, ${took}`);
  console.log(`  right answers, by quarter   ${quarters.map((quarter) => quarter.padEnd(10)).join("")}`);
  console.log(
    `  the end of it               …${text
      .slice(-150)
      .replace(/^\S* /, " ")
      .replace(/(.{1,72})(?: |$)/g, "$1\n                              ")
      .trimEnd()}\n`,
  );
  model.dispose();
}

console.log(
  `Stories of ${length} words, by a model that was trained on ${TRAINED_LENGTH}. They begin: "${beginning}"\n`,
);
await tell("As it was trained", folder);
await tell("Under YaRN", folder, yarn);
await tell("Fine-tuned under YaRN", join(folder, "yarn/"));
