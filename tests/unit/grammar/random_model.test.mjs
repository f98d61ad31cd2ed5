// Random models generate values of the schemas of the JSON Schema Test Suite (tests/golden/generate/grammars/make_schemas.py).
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { after, test } from "node:test";
import Ajv from "ajv";
import Ajv2019 from "ajv/dist/2019.js";
import Ajv2020 from "ajv/dist/2020.js";
import AjvDraft4 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { load } from "../../../dist/index.node.js";

const golden = (name) => fileURLToPath(new URL(`../../golden/${name}`, import.meta.url));
const rw = await load({ build: "simd", threads: 1 });
/** Has a token for each byte, and 16 longer ones. */
const model = await rw.model(golden("tiny_models/rwkv7/model.gguf"));
after(() => model.dispose());

/** What ends texts and lists soon, for a random model knows no end. */
const ENDING = Object.fromEntries(
  Array.from('"]}', (character) => [model.tokenizer.encode(character, { special: false })[0], 4]),
);

async function generated(from, options) {
  const pieces = [];
  const sampling = { temperature: 1, topK: 0, topP: 1, minP: 0 };
  for await (const piece of from.generate("a b", { ...sampling, ...options })) pieces.push(piece);
  return { text: pieces.map(({ text }) => text).join(""), finish: pieces.at(-1)?.finish };
}

const VALIDATORS = {
  "draft2020-12": Ajv2020.default,
  "draft2019-09": Ajv2019.default,
  draft7: Ajv.default,
  draft6: Ajv.default,
  draft4: AjvDraft4.default,
};

test("a random model generates values of the schemas of the JSON Schema Test Suite", async () => {
  const groups = JSON.parse(await readFile(golden("json_schemas.json"), "utf8"));
  const count = { whole: 0, refused: 0, cut: 0 };
  for (const [seed, { name, drafts, schema, values }] of groups.entries()) {
    let result;
    try {
      result = await generated(model, { format: { schema }, seed, maxTokens: 400, logitBias: ENDING });
    } catch (error) {
      assert.equal(error.code, "INVALID_ARGUMENT", error.stack);
      assert.match(error.field, /^format\.schema/, name);
      count.refused += 1;
      continue;
    }
    if (result.finish !== "end") {
      count.cut += 1;
      continue;
    }
    const { $schema: _, ...rest } = typeof schema === "object" ? schema : {};
    const options = {
      strict: false,
      logger: false,
      validateSchema: false,
      ownProperties: true,
      multipleOfPrecision: 6,
    };
    let validate;
    try {
      const ajv = addFormats.default(new VALIDATORS[drafts[0]](options));
      validate = ajv.compile(typeof schema === "object" ? rest : schema);
    } catch {
      continue; // Ajv can't read it: some $id and $dynamicRef
    }
    if (values.some(([value, isValid]) => validate(value) !== isValid)) continue; // Ajv fails the suite here
    assert.ok(validate(JSON.parse(result.text)), `${name}: ${result.text} doesn't match ${JSON.stringify(schema)}`);
    count.whole += 1;
  }
  assert.ok(count.whole >= 350 && count.cut <= 8, JSON.stringify(count));
});
