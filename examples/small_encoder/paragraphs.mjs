// Generates paragraphs that state a few facts among other sentences, and questions about the facts. Seeded.
import { randomNumbers } from "../random_numbers.mjs";
import { colors, names, places, things, words } from "../small_model/stories.mjs";

/** Facts in a paragraph, whatever its length, unless the caller wants others. */
export const FACTS = 4;
/** The largest number of paragraphs whose facts are about different things. */
export const MAX_PARAGRAPHS = Math.floor((colors.length * things.length) / FACTS);

/**
 * Generates paragraphs for one search. No two facts are about the same thing of the same color.
 *
 * The other sentences name colors without things and things without colors, so which words a paragraph has doesn't tell what it states.
 * @param options.seed - selects the paragraphs.
 * @param options.count - number of paragraphs, up to {@link MAX_PARAGRAPHS}.
 * @param options.length - words and punctuation marks of each paragraph; the last sentence may be up to 8 longer.
 * @param options.factsEach - facts in each paragraph.
 * @returns `{ paragraphs, facts }`: texts, and for each fact `{ thing, place, paragraph }` with the index of its paragraph.
 */
export function paragraphsFor({ seed, count, length, factsEach = FACTS }) {
  const random = randomNumbers(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const pairs = shuffled(
    colors.flatMap((color) => things.map((thing) => `${color} ${thing}`)),
    random,
  );
  const facts = [];
  const paragraphs = Array.from({ length: count }, (_, paragraph) => {
    const own = Array.from({ length: factsEach }, () => ({ thing: pairs.pop(), place: pick(places), paragraph }));
    facts.push(...own);
    const stated = own.map(({ thing, place }) => `The ${thing} is in the ${place}.`);
    const others = [];
    for (let left = length - lengthOf(stated); left > 0; left -= lengthOf(others.slice(-1))) others.push(other(pick));
    return shuffled([...stated, ...others], random).join(" ");
  });
  return { paragraphs, facts };
}

/**
 * Generates paragraphs of several searches together, {@link MAX_PARAGRAPHS} of each. So a thing is in a different place in each search.
 * @param options.seed - selects the paragraphs: it is the first search's, and the others' follow.
 * @param options.searches - number of searches.
 * @param options.length, options.factsEach - as in {@link paragraphsFor}.
 * @returns `{ paragraphs, facts }`, as {@link paragraphsFor} does.
 */
export function collectionFor({ seed, searches, length, factsEach }) {
  const parts = Array.from({ length: searches }, (_, i) =>
    paragraphsFor({ seed: seed + i, count: MAX_PARAGRAPHS, length, factsEach }),
  );
  const shifted = ({ facts }, i) => facts.map((fact) => ({ ...fact, paragraph: fact.paragraph + i * MAX_PARAGRAPHS }));
  return { paragraphs: parts.flatMap(({ paragraphs }) => paragraphs), facts: parts.flatMap(shifted) };
}

/** A question that the fact answers. */
export const questionAbout = ({ thing }) => `Where is the ${thing}?`;

/** What people type about a fact: a question, a few words, or the whole sentence. */
export const queriesAbout = (fact) => [questionAbout(fact), fact.thing, `The ${fact.thing} is in the ${fact.place}.`];

/** For each query of {@link queriesAbout}, what a paragraph that answers it contains. */
export const answersAbout = ({ thing, place }) => {
  const anywhere = `The ${thing} is in the `;
  return [anywhere, anywhere, `${anywhere}${place}.`];
};

const other = (pick) =>
  pick([
    () => `${pick(names)} likes ${pick(colors)}.`,
    () => `${pick(names)} lost a ${pick(things)}.`,
    () => `${pick(names)} found the ${pick(things)} in the ${pick(places)}.`,
    () => `The ${pick(places)} is ${pick(colors)}.`,
    () => `${pick(names)} and ${pick(names)} sing.`,
    () => `It is a warm day.`,
  ])();

const lengthOf = (sentences) => sentences.reduce((sum, sentence) => sum + words(sentence).length, 0);

function shuffled(list, random) {
  const rest = [...list];
  return list.map(() => rest.splice(Math.floor(random() * rest.length), 1)[0]);
}
