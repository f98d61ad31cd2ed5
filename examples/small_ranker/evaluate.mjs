// Measures what the small ranker brings: how well the small encoder finds paragraphs among 2,000, and how well its first ones are ordered after
// the ranker has read them.
//
//   node examples/small_ranker/evaluate.mjs [queries of each form]
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { answersAbout, collectionFor, queriesAbout } from "../small_encoder/paragraphs.mjs";
import { isMain } from "../is_main.mjs";

export const CANDIDATES = 32;
const FORMS = ["question", "thing", "statement"];
const SEARCHES = 25; // of 80 paragraphs
const WORDS = 60; // of a paragraph
const FIRST_SEED = 900_000_000; // training uses lower ones

const folder = (name) => fileURLToPath(new URL(`../${name}/`, import.meta.url));
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/**
 * Mean reciprocal rank, and share of queries whose first result answers them, before and after the ranker, by form of query.
 * Queries that no candidate answers count as 0.
 */
export async function measure(rw, queries, searches = SEARCHES) {
  const [encoder, ranker] = await Promise.all(["small_encoder", "small_ranker"].map((name) => rw.model(folder(name))));
  const { paragraphs, facts } = collectionFor({ seed: FIRST_SEED, searches, length: WORDS });
  const vectors = await encoder.embed(paragraphs);
  const asked = Array.from({ length: queries }, (_, i) => facts[Math.floor((i * facts.length) / queries)]);
  const results = {};
  for (const [form, name] of FORMS.entries()) {
    const sums = { before: { mrr: 0, first: 0 }, after: { mrr: 0, first: 0 } };
    for (const fact of asked) {
      const [query, answer] = [queriesAbout(fact)[form], answersAbout(fact)[form]];
      const vector = await encoder.embed(query);
      const scores = vectors.map((other) => dot(other, vector));
      const nearest = [...scores.keys()].sort((a, b) => scores[b] - scores[a]).slice(0, CANDIDATES);
      const texts = nearest.map((index) => paragraphs[index]);
      const ranked = (await ranker.rank(query, texts)).map(({ index }) => texts[index]);
      count(sums.before, texts, answer);
      count(sums.after, ranked, answer);
    }
    results[name] = Object.fromEntries(
      Object.entries(sums).map(([when, { mrr, first }]) => [when, { mrr: mrr / queries, first: first / queries }]),
    );
  }
  for (const model of [encoder, ranker]) model.dispose();
  return results;
}

function count(sums, texts, answer) {
  const place = texts.findIndex((text) => text.includes(answer));
  sums.mrr += place < 0 ? 0 : 1 / (place + 1);
  sums.first += place === 0 ? 1 : 0;
}

if (isMain(import.meta.url)) {
  const results = await measure(await load(), Number(process.argv[2] ?? 100));
  const cell = (value) => value.toFixed(3).padStart(9);
  console.log("query       MRR: encoder   ranked    first right: encoder   ranked");
  for (const [name, { before, after }] of Object.entries(results))
    console.log(
      `${name.padEnd(15)}${cell(before.mrr)}${cell(after.mrr)}${" ".repeat(15)}${cell(before.first)}${cell(after.first)}`,
    );
}
