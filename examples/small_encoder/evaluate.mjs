// Measures how often the small encoder finds the paragraph that answers a question, by length of the paragraphs, under several scalings.
//
//   node examples/small_encoder/evaluate.mjs [searches]
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { paragraphsFor, questionAbout } from "./paragraphs.mjs";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const TRAINED_LENGTH = 128;
const PARAGRAPHS = 64; // of one search
const FIRST_SEED = 900_000_000; // training uses lower ones
const LENGTHS = [1, 2, 4, 8].map((factor) => factor * TRAINED_LENGTH);

const original = { original_max_position_embeddings: TRAINED_LENGTH };

/** The scaling for texts that are `factor` times as long as those in training. */
const scalings = {
  none: () => null,
  "NTK-aware": (factor) => ({ rope_type: "ntk", factor }),
  // with factor 1, the base follows each text's length over the trained length
  "dynamic NTK": () => ({ rope_type: "dynamic", factor: 1 }),
  YaRN: (factor) => ({ rope_type: "yarn", factor, ...original }),
  "YaRN, beta_fast 8": (factor) => ({ rope_type: "yarn", factor, beta_fast: 8, ...original }),
};

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** For each question, 1 if its paragraph is the nearest, 2 if it is the second … */
async function ranks(model, { paragraphs, facts }) {
  const vectors = await model.embed(paragraphs);
  const queries = await model.embed(facts.map(questionAbout));
  return facts.map(({ paragraph }, i) => {
    const scores = vectors.map((vector) => dot(vector, queries[i]));
    return 1 + scores.filter((score) => score > scores[paragraph]).length;
  });
}

/** Share of questions whose paragraph comes first, over all searches. */
async function recall(rw, rope_scaling, length, searches) {
  const model = await rw.model(FOLDER, { contextLength: length, rope: { rope_scaling } });
  const all = [];
  for (let i = 0; i < searches; i++) {
    // [CLS] and the end of the last sentence fit as well
    const search = paragraphsFor({ seed: FIRST_SEED + i, count: PARAGRAPHS, length: length - 10 });
    all.push(...(await ranks(model, search)));
  }
  model.dispose();
  return all.filter((rank) => rank === 1).length / all.length;
}

const searches = Number(process.argv[2] ?? 1);
const rw = await load();
console.log(`${"tokens".padEnd(18)}${LENGTHS.map((length) => String(length).padStart(7)).join("")}`);
for (const [name, scaling] of Object.entries(scalings)) {
  const cells = [];
  for (const length of LENGTHS) {
    const factor = length / TRAINED_LENGTH;
    cells.push((await recall(rw, scaling(factor), length, searches)).toFixed(2).padStart(7));
  }
  console.log(name.padEnd(18) + cells.join(""));
}
