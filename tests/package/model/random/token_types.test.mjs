// Types of the tokens of pairs, as transformers' tokenizers return them or not, with their files drawn at random.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { tinyModel } from "../../helpers/models.mjs";
import { casesOf } from "../../helpers/random.mjs";
import { rw } from "../../helpers/runtime.mjs";

const file = (name, bytes) => new File([bytes], name);
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

test("rerankers give types to the texts of a pair if their tokenizer does: transformers' scores", async () => {
  const cases = casesOf("token_types.json");
  const failures = [];
  for (const { tokenizer_config, texts, logit } of cases) {
    const files = ["config.json", "model.safetensors", "tokenizer.json"].map((name) =>
      file(name, readFileSync(tinyModel(`bert_ranker/${name}`))),
    );
    const model = await rw.model([...files, file("tokenizer_config.json", JSON.stringify(tokenizer_config))]);
    const [{ score }] = await model.rank(texts[0], [texts[1]]);
    model.dispose();
    if (!(Math.abs(score - sigmoid(logit)) < 1e-5)) failures.push(`${JSON.stringify(tokenizer_config)}: ${score}`);
  }
  assert.equal(failures.length, 0, `${failures.length} of ${cases.length} cases\n${failures.join("\n")}`);
});
