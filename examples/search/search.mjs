// A page that searches 2,000 paragraphs by meaning. A Worker embeds them once; later visits read the vectors from the device. Serve the
// repository, after `npm run build`, and open examples/search/.
import { load } from "ropewalk/worker";
import { MOST_PARAGRAPHS, paragraphsFor } from "../small_encoder/paragraphs.mjs";
import { keepVectors, keptVectors, keyOf } from "./kept_vectors.mjs";

const COUNT = 2000;
const WORDS = 60; // of a paragraph
const SHOWN = 10;
const MODEL = new URL("../small_encoder/", import.meta.url).href;

const [query, progress, status, results] = ["query", "progress", "status", "results"].map((id) =>
  document.getElementById(id),
);

const paragraphs = Array.from(
  { length: COUNT / MOST_PARAGRAPHS },
  (_, seed) => paragraphsFor({ seed: 800_000_000 + seed, count: MOST_PARAGRAPHS, length: WORDS }).paragraphs,
).flat();

const rw = await load();
const model = await rw.model(MODEL);
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

/** Searches for what is in the field, until it is what was searched for. Keys that are typed meanwhile start no searches of their own. */
async function searchLatest() {
  if (isSearching) return;
  isSearching = true;
  let searched;
  while (searched !== query.value) {
    searched = query.value;
    show(searched.trim() === "" ? [] : await nearest(searched));
  }
  isSearching = false;
}

async function nearest(text) {
  const vector = await model.embed(text);
  // vectors have length 1, so this is their cosine
  const scores = vectors.map((other) => other.reduce((sum, x, i) => sum + x * vector[i], 0));
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
  return order.slice(0, SHOWN).map((index) => ({ text: paragraphs[index], score: scores[index] }));
}

function show(found) {
  results.replaceChildren(
    ...found.map(({ text, score }) => {
      const item = document.createElement("li");
      item.textContent = `${text} (${score.toFixed(2)})`;
      return item;
    }),
  );
}
