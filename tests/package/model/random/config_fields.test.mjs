// Every field of the config classes of transformers, changed on tiny models: the logits are those of transformers, or the field is refused.
import assert from "node:assert/strict";
import test from "node:test";
import { RopewalkError } from "ropewalk";
import { changedFiles } from "../../helpers/changed_models.mjs";
import { isNear, resultOf } from "../../helpers/field_results.mjs";
import { drawn } from "../../helpers/random.mjs";

const { models } = drawn("config_fields.json");

/** Values that change nothing in transformers and are refused all the same. */
const REFUSED_FOR_NOTHING = [
  /max_position_embeddings: must be an integer from 1 to/, // a length of 0
  /has \d+ tokens with the query, more than the model's \d+/, // a length that transformers doesn't compare with texts
  /max_position_embeddings: is required: dynamic scaling starts/, // the class has a length, and this text is shorter
  /moe_latent_size: experts of another width/, // a model without experts
  /layers\[1\]\.headDim: must equal the rope's head_dim/, // Gemma 4 whose last layer is listed as sliding
  /classifier_activation: activation \w+ is not supported/, // of a head that the file doesn't have
];

/** What is wrong with the result of a case; undefined if nothing is. */
async function mistakeIn(name, one, unchanged) {
  const changes = [...namesIn(one.set ?? {}), ...(one.remove ?? [])];
  const title = JSON.stringify({ set: one.set, remove: one.remove });
  let numbers;
  try {
    numbers = await resultOf(name, changedFiles(name, one));
  } catch (error) {
    if (!(error instanceof RopewalkError)) return `${title}: ${error.message}`;
    if (one.result === "same") {
      const isKnown = REFUSED_FOR_NOTHING.some((pattern) => pattern.test(error.message));
      return isKnown ? undefined : `${title} changes nothing and is refused: ${error.message}`;
    }
    const isNamed = changes.some((key) => error.message.includes(key));
    const hasOtherTensors = one.tensors !== undefined || one.result === "other shapes"; // whose names are in the message
    return isNamed || hasOtherTensors || isAboutPositions(error)
      ? undefined
      : `${title}: refused without its name: ${error.message}`;
  }
  if (one.result === "other shapes") return `${title}: runs, although the tensors must have other shapes`;
  const expected = one.result === "same" ? unchanged : one.result;
  if (isNear(numbers, expected)) return undefined;
  return `${title}: ${numbers.map((number) => number.toPrecision(6))}, transformers has ${expected}`;
}

/** The keys of a config, and those of the dictionaries in it. */
const namesIn = (config) =>
  Object.entries(config).flatMap(([key, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value) ? [key, ...namesIn(value)] : [key],
  );

/** Lengths and their scaling are read together, so that the error may name another of these keys. */
const isAboutPositions = ({ field }) =>
  /max_position_embeddings|rope_scaling\.factor|contextLength|head_?dim|layer_types|^texts/i.test(field);

for (const [name, cases] of Object.entries(models)) {
  test(`${name}: transformers' result for ${cases.length} changes of its config, or a refusal`, async () => {
    const unchanged = await resultOf(name, changedFiles(name, {}));
    const mistakes = [];
    for (const one of cases) mistakes.push(await mistakeIn(name, one, unchanged));
    const found = mistakes.filter((mistake) => mistake !== undefined);
    assert.equal(found.length, 0, `${found.length} of ${cases.length}\n${found.join("\n")}`);
  });
}
