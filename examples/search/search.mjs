// A page that searches 2,000 paragraphs by meaning. A Worker embeds them once; later visits read the vectors from the device. What is
// nearest is shown as one types, and then ranked by a cross-encoder.
import { load } from "ropewalk/worker";
import { collectionFor, MAX_PARAGRAPHS } from "../small_encoder/paragraphs.mjs";
import { keepVectors, keptVectors, keyOf } from "./kept_vectors.mjs";

const COUNT = 2000;
const WORDS = 60; // of a paragraph
const SHOWN = 10;
const CANDIDATES = 32; // that are ranked
const PAUSE_MS = 250; // after the last key, before ranking
const MODEL = new URL("models/small_encoder/", document.baseURI).href; // copied there by copy_models.mjs
const RANKER = new URL("models/small_ranker/", document.baseURI).href;

const [query, progress, status, order, results] = ["query", "progress", "status", "order", "results"].map((id) =>
  document.getElementById(id),
);

const { paragraphs } = collectionFor({ seed: 800_000_000, searches: COUNT / MAX_PARAGRAPHS, length: WORDS });

const rw = await load();
const [model, ranker] = await Promise.all([rw.model(MODEL), rw.model(RANKER)]);
const vectors = await vectorsOf(paragraphs);
query.disabled = false;
query.addEventListener("input", searchLatest);

async function vectorsOf(texts) {
  const weights = await (await fetch(new URL("model.safetensors", MODEL), { method: "HEAD" })).headers.get("etag");
  const key = await keyOf(MODEL, weights, texts);
  const kept = await keptVectors(key);
  if (kept !== undefined) {
    finishProgress(`${kept.length} paragraphs, embedded before`);
    return kept;
  }
  const start = performance.now();
  const made = await model.embed(texts, {
    onProgress: ({ done, total }) => {
      progress.value = done / total;
      status.textContent = `${done} of ${total} paragraphs`;
    },
  });
  await keepVectors(key, made);
  finishProgress(`${made.length} paragraphs embedded in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return made;
}

function finishProgress(text) {
  progress.value = 1;
  status.textContent = text;
}

let isSearching = false;
let ranking = new AbortController();

/** Searches for what is in the field, until it is what was searched for. Keys that are typed meanwhile start no searches of their own. */
async function searchLatest() {
  ranking.abort();
  if (isSearching) return;
  isSearching = true;
  let searched;
  let found = [];
  while (searched !== query.value) {
    searched = query.value;
    found = searched.trim() === "" ? [] : await nearest(searched);
    show(found, found.length === 0 ? "" : "nearest vectors");
  }
  isSearching = false;
  if (found.length > 0) await rerank(searched, found);
}

/** The paragraphs whose vectors are nearest. */
async function nearest(text) {
  const vector = await model.embed(text);
  // vectors have length 1, so this is their cosine
  const scores = vectors.map((other) => other.reduce((sum, x, i) => sum + x * vector[i], 0));
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
  return order.slice(0, CANDIDATES).map((index) => ({ text: paragraphs[index], score: scores[index] }));
}

/** Once nothing has been typed for a while, puts what was found in the order of the ranker. */
async function rerank(text, found) {
  const { signal } = (ranking = new AbortController());
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  if (signal.aborted) return;
  const start = performance.now();
  try {
    const ranked = await ranker.rank(
      text,
      found.map((candidate) => candidate.text),
      { signal, truncate: true },
    );
    const ordered = ranked.map(({ index, score }) => ({ text: found[index].text, score }));
    show(ordered, `ranked ${found.length} in ${(performance.now() - start).toFixed(0)} ms`);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Shows the first results with their scores, and what they are ordered by. */
function show(found, by) {
  order.textContent = by;
  results.replaceChildren(
    ...found.slice(0, SHOWN).map(({ text, score }) => {
      const item = document.createElement("li");
      item.textContent = `${text} (${score.toFixed(2)})`;
      return item;
    }),
  );
}
