// What each element type of a KV cache costs a model, as tables of docs/kv_caches.md:
//
//   node tests/bench/caches/accuracy.mjs     of the small model, and of SmolLM2-135M-Instruct once `npm test -- released` has fetched it

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { randomNumbers } from "../../../examples/random_numbers.mjs";
import { load } from "../../../dist/index.node.js";
import { releasedFolders } from "../../../scripts/setup/released.mjs";
import { measure, measureSmallModel } from "./measure.mjs";

const root = join(import.meta.dirname, "..", "..", "..");

/** A number of two digits, such as 1.6e-3. */
const shown = (value) => (value === 0 ? "0" : value < 1 ? value.toExponential(1) : value.toFixed(1));

function print(title, rows) {
  const head = ["cache", "perplexity", "mean KL", "99.9 % of KL", "largest KL", "same first choice", "facts found"];
  const cells = rows.map(({ dtype, keys, perplexity, mean, high, largest, same, right, asked }) => [
    `\`${dtype}\`${keys ? `, ${keys} keys` : ""}`,
    perplexity.toPrecision(4),
    ...[mean, high, largest].map(shown),
    `${(100 * same).toFixed(1)} %`,
    `${right} of ${asked}`,
  ]);
  const lines = [head, head.map(() => "---"), ...cells].map((each) => `| ${each.join(" | ")} |`);
  console.log(`${title}\n\n${lines.join("\n")}\n`);
}

const rw = await load();

print("The small model, eight stories of 256 tokens:", await measureSmallModel(rw));

const { smollm2 } = releasedFolders();
if (existsSync(smollm2)) {
  const LENGTH = 512;
  const pages = ["rope_and_yarn_from_zero", "kv_caches", "loading"];
  const sources = await Promise.all(pages.map((page) => readFile(join(root, "docs", `${page}.md`), "utf8")));
  const random = randomNumbers(1);
  const filler = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again. ";
  print(
    `SmolLM2-135M-Instruct (Q4_1), the first ${LENGTH} tokens of ${pages.length} pages of these docs, and 16 pass keys in ${LENGTH} tokens:`,
    await measure({
      open: (options) =>
        rw.model(join(smollm2, "SmolLM2-135M-Instruct.Q4_1.gguf"), { ...options, contextLength: 2 * LENGTH }),
      drawTexts: (model) =>
        Promise.all(sources.map(async (source) => (await model.tokenizer.encode(source)).slice(0, LENGTH))),
      async drawQuestions(model) {
        const sentences = Math.floor(LENGTH / (await model.tokenizer.encode(filler)).length);
        return Promise.all(
          Array.from({ length: 16 }, async () => {
            const key = String(10000 + Math.floor(90000 * random()));
            const place = Math.floor(sentences * random());
            const text = Array.from({ length: sentences }, (_, i) =>
              i === place ? `The pass key is ${key}. Remember it. ${key} is the pass key. ` : filler,
            );
            const begin = `There is an important fact in this text. Find it. ${text.join("")}What is the pass key? The pass key is`;
            const prompt = await model.tokenizer.encode(begin);
            const whole = await model.tokenizer.encode(`${begin} ${key}`);
            return { prompt, expected: whole.slice(prompt.length) };
          }),
        );
      },
    }),
  );
}
