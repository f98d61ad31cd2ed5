// Prints stories with the answers marked, as `ropewalk search --texts` reads them: one list of pieces a line.
//
//   node examples/small_model/search_texts.mjs LENGTH COUNT [SEED]
//
// The distances of the facts asked for are drawn from the whole story, each octave equally likely. Seeds from 5,000,000 on are those of no evaluation.
import { isMain } from "../is_main.mjs";
import { textOf } from "./texts.mjs";

const WORD = /[A-Za-z]+|[.?]/g;

/** A story of at most `length` tokens in pieces: strings, and `{ answer }` for the places that answer its questions. */
export function piecesOf({ text, length, questions }) {
  const words = Array.from(text.matchAll(WORD)).slice(0, length - 1); // after the begin token
  const asked = new Set(questions.map(({ at }) => at - 1));
  const pieces = [];
  let begun = 0;
  words.forEach(({ 0: word, index }, i) => {
    if (!asked.has(i)) return;
    pieces.push(text.slice(begun, index - 1), { answer: ` ${word}` });
    begun = index + word.length;
  });
  const last = words.at(-1);
  return [...pieces, text.slice(begun, last.index + last[0].length)];
}

/** Stories for a search, with seeds that neither training nor evaluation has. */
export function searchTexts(length, count, seed = 5_000_000) {
  return Array.from({ length: count }, (_, i) => piecesOf(textOf({ seed: seed + i, length, near: false })));
}

if (isMain(import.meta.url)) {
  const [length, count, seed] = process.argv.slice(2).map(Number);
  for (const text of searchTexts(length, count, seed)) console.log(JSON.stringify(text));
}
