// An induction head made by hand: q, k and v of our own, with the package's RoPE, attention and KV cache.
import { load, ropeConfig } from "ropewalk";

/** Elements of a head. Values are one-hot, so this is also the number of letters and of positions. */
export const SIZE = 64;
/** The pairs that head 1 uses: the fastest of 32. Pair i is elements i and i + 32. */
export const PAIRS = 8;
const FIRST_LETTER = 32; // one-hot letters are the codes 32 to 95 of ASCII

const config = (scaling) =>
  ropeConfig(
    { head_dim: SIZE, rope_theta: 10000, max_position_embeddings: 4096, rope_scaling: scaling },
    { overrides: { pairing: "half" } },
  );
export const SCALINGS = {
  plain: config(null),
  linear: config({ rope_type: "linear", factor: 8 }),
  yarn: config({ rope_type: "yarn", factor: 8, original_max_position_embeddings: 4096 }),
};

const rw = await load();
const ropes = Object.fromEntries(Object.entries(SCALINGS).map(([name, scaling]) => [name, rw.rope(scaling)]));
const cache = rw.kvCache({ rope: SCALINGS.plain, kvHeads: 1, maxLength: SIZE });
let scaling = "plain"; // of the cached keys
const shaped = (tokens) => ({ layout: "thd", shape: [tokens, 1, SIZE] });

/** One row for each token, with a 1 at each of the places that `placesOf` returns. */
function rows(tokens, placesOf) {
  const array = new Float32Array(tokens * SIZE);
  for (let t = 0; t < tokens; t++) for (const place of placesOf(t)) array[t * SIZE + place] = 1;
  return array;
}

const pairs = Array.from({ length: PAIRS }, (_, pair) => pair);
const keysOf = (tokens) => rows(tokens, () => pairs);

/** Queries of head 1 before rotation. As in a trained model, the offset of one position is in the weights, and no scaling changes it. */
function queriesOf(tokens) {
  const positions = new Int32Array(tokens).fill(-1);
  return ropes.plain.rotate(keysOf(tokens), { ...shaped(tokens), positions });
}

/** The code of a letter among the 64 that the heads know. Others are spaces. */
const letterOf = (letter) => Math.max(0, letter.toUpperCase().charCodeAt(0) - FIRST_LETTER) % SIZE;

/** Brings the cache to `tokens` tokens under a scaling. Cached keys are kept, and rotated to the new scaling. */
function bringCacheTo(tokens, name) {
  if (cache.length > tokens) cache.truncate(tokens);
  if (name !== scaling) cache.retune(SCALINGS[name]);
  scaling = name;
  const added = tokens - cache.length;
  if (added === 0) return;
  const start = cache.length;
  // values say where they are, so that outputs are the weights of the positions
  cache.append({ k: keysOf(added), v: rows(added, (t) => [start + t]), ...shaped(added) });
}

/**
 * Runs both heads over a text of 1 to 48 letters.
 * Returns the weights of both, `weights[t * SIZE + position]`, and the probabilities of the 64 letters after the text.
 */
export function runHeads(text, name) {
  const letters = Array.from(text, letterOf);
  const tokens = letters.length;
  bringCacheTo(tokens, name);
  const q = ropes[name].rotate(queriesOf(tokens), { ...shaped(tokens), positions: 0 });
  const first = cache.attend(q, { ...shaped(tokens), scale: 6 });

  // the letters that head 1 has read at each position are the keys of head 2
  const read = new Float32Array(tokens * SIZE);
  for (let t = 1; t < tokens; t++)
    for (let from = 0; from < tokens; from++) read[t * SIZE + letters[from]] += first[t * SIZE + from];
  const asked = rows(tokens, (t) => [letters[t]]);
  const options = { ...shaped(tokens), scale: 12 };
  const second = rw.attention(
    asked,
    read,
    rows(tokens, (t) => [t]),
    options,
  );
  const probabilities = rw
    .attention(
      asked,
      read,
      rows(tokens, (t) => [letters[t]]),
      options,
    )
    .slice(-SIZE);
  return { first, second, probabilities };
}

/** The angles in radians of the query of a letter and of the key of another, for each pair. */
export function anglesOf(query, key, name) {
  const angles = (row) => pairs.map((pair) => Math.atan2(row[pair + SIZE / 2], row[pair]));
  const one = shaped(1);
  return {
    query: angles(ropes[name].rotate(queriesOf(1), { ...one, positions: query })),
    key: angles(ropes[name].rotate(keysOf(1), { ...one, positions: key })),
  };
}

/** The letter of a place in `probabilities`. */
export const letterAt = (place) => String.fromCharCode(FIRST_LETTER + place).toLowerCase();
