// Products of MiniLM-L6's matrices with the tokens of one text and of a batch of texts (embed.ts), beside a loop of nothing but a tile's
// loads, arithmetic and stores, and of one token with matrices that are larger than a cache: `npm run bench -- products`.
import { race, ratio } from "../measure.mjs";

const SHAPES = [
  [384, 384],
  [1536, 384],
  [384, 1536],
];
const TOKENS = [24, 128];
const TARGET = 0.9;
/** Copies of f32 weights that take turns, as those of layers do: 19 to 75 MB. The loop reads as much. */
const COPIES = 32;
/** The head of a model, and one with as many weights and longer rows. */
const HEADS = [
  [65536, 896],
  [12288, 4864],
];

/** One token with weights from memory, beside the loop of its work over the same weights, which reads four parts in turn, or one. */
function multiplyToken({ module, report }) {
  for (const [rows, columns] of HEADS) {
    if (!module._make_product(false, rows, columns, 1, 1)) throw new Error("not enough memory");
    const results = race(
      {
        product: (repeats) => module._run_product(1, repeats),
        bound: (repeats) => module._product_of_token_bound(4, repeats),
        inOnePlace: (repeats) => module._product_of_token_bound(1, repeats),
      },
      { rounds: 31, sampleMs: 2 },
    );
    const name = `q8_0, ${rows} × ${columns}, a token`;
    report({
      name: `${name}: share of the loop`,
      value: ratio(results, "bound", "product"),
      unit: "×",
      target: TARGET,
    });
    const times = ratio(results, "inOnePlace", "product");
    report({ name: `${name}: times the loop that reads in one place`, value: times, unit: "×" });
  }
}

export function runCases({ module, report }) {
  module._fill_bounds();
  multiplyToken({ module, report });
  for (const dtype of ["f32", "q8_0"]) {
    for (const [rows, columns] of SHAPES) {
      const compare = (tokens, title) => {
        const results = race(
          {
            bound: (repeats) => module._product_bound(tokens, repeats),
            product: (repeats) => module._run_product(tokens, repeats),
          },
          { rounds: 31, sampleMs: 2 }, // shorter than what an operating system gives another program at a time
        );
        const name = `${dtype}, ${rows} × ${columns}, ${tokens} tokens${title}`;
        const billions = ({ us }) => (2 * rows * columns * tokens) / us / 1000;
        report({ name, value: billions(results.product), unit: "GOP/s" });
        report({ name: `${name}: loop alone`, value: billions(results.bound), unit: "GOP/s" });
        report({
          name: `${name}: share of the loop`,
          value: ratio(results, "bound", "product"),
          unit: "×",
          target: TARGET,
        });
      };
      const make = (copies) => {
        if (!module._make_product(dtype === "f32", rows, columns, TOKENS.at(-1), copies))
          throw new Error("not enough memory");
      };
      make(1);
      for (const tokens of TOKENS) compare(tokens, "");
      if (dtype !== "f32") continue;
      make(COPIES);
      compare(TOKENS[0], ", weights from memory");
    }
  }
}
