// What the tasks say to a model: in the words of the small model's stories, or in those of RULER (Hsieh et al. 2024, arXiv 2404.06654).
import { colors, fillerText, places, things } from "../small_model/stories.mjs";

const CHAIN = 4;

/** `count` different members of a list, in random order. */
export function some(list, count, random) {
  const rest = [...list];
  return Array.from({ length: count }, () => rest.splice(Math.floor(random() * rest.length), 1)[0]);
}

const one = (list, random) => list[Math.floor(random() * list.length)];

/**
 * A question is `{ ask, expected, tokens }`: the end of the text, the words that the answer must contain, and the tokens that the answer may have.
 * A needle is `{ key, value }`.
 */
export const story = {
  filler: (random) => fillerText((list) => one(list, random)),
  needles: (count, random) =>
    some(
      colors.flatMap((color) => things.map((thing) => `${color} ${thing}`)),
      count,
      random,
    ).map((key) => ({ key, value: one(places, random) })),
  fact: ({ key, value }) => `The ${key} is in the ${value}.`,
  question: ({ key, value }) => ({
    ask: `Where is the ${key}? The ${key} is in the`,
    expected: [value],
    tokens: 1,
  }),
  /** Each question is asked after the model's own answer to the one before it. */
  queries: (needles) => needles.map((needle) => story.question(needle)),
  /** A thing that moves: only the last place is right. */
  chain(random) {
    const [{ key }] = story.needles(1, random);
    const stops = some(places, CHAIN, random);
    return {
      sentences: stops.map((value) => story.fact({ key, value })),
      question: story.question({ key, value: stops.at(-1) }),
    };
  },
};

const words =
  `acorn anchor anvil apron badger barrel basin beacon blanket bottle bucket button cabin candle canyon carpet castle cellar cherry clover
  comet copper coral cradle crystal cushion desert dragon eagle ember engine falcon feather fiddle forest fountain garden ginger glacier hammer harbor
  hazel helmet hollow island ivory jacket jasmine kettle ladder lantern lemon lizard marble meadow mirror needle nutmeg orchard oyster paddle pepper
  pigeon pillow pocket prism quarry rabbit raven ribbon river saddle salmon shadow silver spider summit thimble timber tunnel turtle valley velvet violin
  walnut whistle willow window winter zebra`.split(/\s+/);

const digits = (count, random) => String(Math.floor(10 ** (count - 1) + 9 * 10 ** (count - 1) * random()));
const listed = (items) => `${items.slice(0, -1).join(", ")}, and ${items.at(-1)}`;
const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

export const english = {
  filler: () => "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.",
  needles: (count, random) => some(words, count, random).map((key) => ({ key, value: digits(7, random) })),
  fact: ({ key, value }) => `One of the special magic numbers for ${key} is: ${value}.`,
  question: ({ key, value }) => ({
    ask: `What is the special magic number for ${key} mentioned in the provided text? The special magic number for ${key} mentioned in the provided text is:`,
    expected: [value],
    tokens: 10,
  }),
  queries(needles) {
    const keys = listed(needles.map(({ key }) => key));
    return [
      {
        ask: `What are all the special magic numbers for ${keys} mentioned in the provided text? The special magic numbers for ${keys} mentioned in the provided text are`,
        expected: needles.map(({ value }) => value),
        tokens: 14 * needles.length,
      },
    ];
  },
  chain(random) {
    const names = Array.from({ length: CHAIN + 1 }, () => some(LETTERS, 5, random).join(""));
    const value = digits(5, random);
    const sentences = names.map((name, i) => `VAR ${name} = ${i === 0 ? value : `VAR ${names[i - 1]}`}.`);
    const ask = `Question: Find all variables that are assigned the value ${value} in the text above. Answer: According to the chain of variable assignment in the text above, ${names.length} variables are assigned the value ${value}, they are:`;
    return { sentences, question: { ask, expected: names, tokens: 10 * names.length } };
  },
};
