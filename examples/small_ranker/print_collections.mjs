// Prints collections for training, one per line as JSON: { paragraphs, queries, answers }, where answers are the indices of the paragraphs that
// answer each query. Half of the queries name a thing and its place. The paragraphs of a collection have one to four facts.
//
//   node examples/small_ranker/print_collections.mjs SEED LINES SEARCHES SHORTEST LONGEST       lengths in words
import { randomNumbers } from "../random_numbers.mjs";
import { answersAbout, collectionFor, FACTS, queriesAbout } from "../small_encoder/paragraphs.mjs";

const QUERIES = 160; // of a collection
const [seed, lines, searches, shortest, longest] = process.argv.slice(2).map(Number);
const random = randomNumbers(seed);
const upTo = (count) => Math.floor(random() * count);
for (let line = 0; line < lines; line++) {
  const length = Math.round(shortest + random() * (longest - shortest));
  const options = { seed: seed + line * searches, searches, length, factsEach: 1 + upTo(FACTS) };
  const { paragraphs, facts } = collectionFor(options);
  const asked = Array.from({ length: QUERIES }, () => {
    const fact = facts[upTo(facts.length)];
    const form = Math.min(2, upTo(4));
    return { query: queriesAbout(fact)[form], answer: answersAbout(fact)[form] };
  });
  const indicesOf = (answer) => paragraphs.flatMap((text, i) => (text.includes(answer) ? [i] : []));
  const [queries, answers] = [asked.map(({ query }) => query), asked.map(({ answer }) => indicesOf(answer))];
  process.stdout.write(`${JSON.stringify({ paragraphs, queries, answers })}\n`);
}
