// Prints collections for training, one per line as JSON: { paragraphs, queries, answers }, where answers are the indices of the paragraphs that
// answer each query. Half of the queries name a thing and its place.
//
//   node examples/small_ranker/print_collections.mjs SEED LINES SHORTEST LONGEST       lengths in words
import { answersAbout, collectionFor, queriesAbout } from "../small_encoder/paragraphs.mjs";
import { randomNumbers } from "../random_numbers.mjs";

const SEARCHES = 4;
const QUERIES = 160; // of a collection
const [seed, lines, shortest, longest, mostFacts] = process.argv.slice(2).map(Number);
const random = randomNumbers(seed);
for (let line = 0; line < lines; line++) {
  const length = Math.round(shortest + random() * (longest - shortest));
  const perParagraph = 1 + Math.floor(random() * mostFacts);
  const { paragraphs, facts } = collectionFor({ seed: seed + line * SEARCHES, searches: SEARCHES, length, facts: perParagraph });
  const asked = Array.from({ length: QUERIES }, () => {
    const fact = facts[Math.floor(random() * facts.length)];
    const form = Math.min(2, Math.floor(random() * 4));
    return { query: queriesAbout(fact)[form], answer: answersAbout(fact)[form] };
  });
  const indicesOf = (answer) => paragraphs.flatMap((text, i) => (text.includes(answer) ? [i] : []));
  const [queries, answers] = [asked.map(({ query }) => query), asked.map(({ answer }) => indicesOf(answer))];
  process.stdout.write(`${JSON.stringify({ paragraphs, queries, answers })}\n`);
}
