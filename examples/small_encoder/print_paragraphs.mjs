// Prints searches for training, one per line as JSON: { paragraphs, queries, answers }, where answers are indices of paragraphs.
//
//   node examples/small_encoder/print_paragraphs.mjs SEED LINES WORDS
import { randomNumbers } from "../random_numbers.mjs";
import { MAX_PARAGRAPHS, paragraphsFor, queriesAbout } from "./paragraphs.mjs";

const SHORTEST = 32;
const [seed, lines, words] = process.argv.slice(2).map(Number);
const random = randomNumbers(seed);
for (let line = 0; line < lines; line++) {
  const length = Math.round(SHORTEST + random() * (words - SHORTEST));
  // about as many words in each search
  const count = Math.min(MAX_PARAGRAPHS, Math.floor((32 * words) / length));
  const { paragraphs, facts } = paragraphsFor({ seed: seed + line, count, length });
  const queries = facts.map((fact) => {
    const forms = queriesAbout(fact);
    return forms[Math.floor(random() * forms.length)];
  });
  const answers = facts.map(({ paragraph }) => paragraph);
  process.stdout.write(`${JSON.stringify({ paragraphs, queries, answers })}\n`);
}
