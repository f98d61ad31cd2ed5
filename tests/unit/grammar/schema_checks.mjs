// Grammars of JSON schemas in tests: what they accept, and validators of Ajv.
import assert from "node:assert/strict";
import Ajv from "ajv";
import Ajv2019 from "ajv/dist/2019.js";
import Ajv2020 from "ajv/dist/2020.js";
import AjvDraft4 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { Automaton, DEAD } from "../../../build/package/runtime/grammar/automaton.js";
import { networkOf } from "../../../build/package/runtime/grammar/network.js";
import { schemaGrammar } from "../../../build/package/runtime/grammar/schema/convert.js";
import { randomFrom, textsOf } from "./random_text.mjs";

const VALIDATORS = {
  "draft2020-12": Ajv2020.default,
  "draft2019-09": Ajv2019.default,
  draft7: Ajv.default,
  draft6: Ajv.default,
  draft4: AjvDraft4.default,
};

/** A function that tells whether a value matches. */
export function validatorOf(schema, draft) {
  const ajv = addFormats.default(
    new VALIDATORS[draft]({ strict: false, logger: false, validateSchema: false, ownProperties: true }),
  );
  // Ajv divides in f64, where 1.13 / 0.01 isn't an integer.
  ajv.removeKeyword("multipleOf");
  ajv.addKeyword({ keyword: "multipleOf", type: "number", validate: isMultiple });
  const { $schema: _, ...rest } = typeof schema === "object" ? schema : {};
  return ajv.compile(typeof schema === "object" ? rest : schema);
}

/** Whether a number is a multiple, by the decimal digits of both. */
function isMultiple(divisor, value) {
  const parts = [value, divisor].map((number) => /^(-?\d)(?:\.(\d+))?e(.*)$/.exec(number.toExponential()));
  const exponents = parts.map(([, , fraction = "", exponent]) => Number(exponent) - fraction.length);
  const least = Math.min(...exponents);
  const [a, b] = parts.map(
    ([, whole, fraction = ""], i) => BigInt(whole + fraction) * 10n ** BigInt(exponents[i] - least),
  );
  return a % b === 0n;
}

export function accepts(automaton, text) {
  let state = automaton.start();
  for (const byte of Buffer.from(text)) {
    state = automaton.step(state, byte);
    if (state === DEAD) return false;
  }
  return automaton.canEnd(state);
}

/** The grammar of a schema; undefined if it is refused, which must name the keyword. */
export function grammarOf(schema) {
  try {
    return schemaGrammar(schema, "schema");
  } catch (error) {
    assert.equal(error.code, "INVALID_ARGUMENT", error.stack);
    assert.match(error.field, /^schema/);
    return undefined;
  }
}

/** Checks that the grammar of a schema has some values and not others, and that its texts match by Ajv. */
export function checkSchema(schema, good, bad) {
  const grammar = schemaGrammar(schema, "schema");
  const automaton = new Automaton(networkOf(grammar, "schema"));
  for (const value of good) assert.ok(accepts(automaton, JSON.stringify(value)), JSON.stringify(value));
  for (const value of good)
    assert.ok(accepts(automaton, JSON.stringify(value, undefined, 2)), `${JSON.stringify(value)}, indented`);
  for (const value of bad) assert.ok(!accepts(automaton, JSON.stringify(value)), JSON.stringify(value));
  const validate = validatorOf(schema, "draft2020-12");
  const draw = textsOf(grammar, randomFrom(3));
  for (let i = 0; i < 200; i++) {
    const text = draw();
    assert.ok(validate(JSON.parse(text)), `${text} doesn't match`);
    assert.ok(accepts(automaton, text), text);
  }
}
