// Numbers of JSON schemas: limits that f64 can't tell apart, multiples, and numbers that aren't allowed.
import assert from "node:assert/strict";
import { test } from "node:test";
import Ajv2020 from "ajv/dist/2020.js";
import { schemaGrammar } from "../../../build/package/runtime/grammar/schema/convert.js";
import { randomFrom, textsOf } from "./random_text.mjs";
import { checkSchema } from "./schema_checks.mjs";

/** Schemas with numbers that their grammars must have, and must not. */
const OWN = {
  "an integer that isn't allowed": [{ type: "integer", not: { const: 4 }, minimum: 3, maximum: 5 }, [3, 5], [4, 2]],
  "several integers that aren't allowed": [
    { type: "integer", not: { enum: [4, 7, 5] }, minimum: 3 },
    [3, 6, 8, 100],
    [4, 5, 7],
  ],
  "a number that isn't allowed": [{ type: "number", not: { const: 0 } }, [0.1, -0.000001, 7], [0]],
  "a value that isn't allowed": [{ not: { const: 4 } }, [3, 4.5, "4", null, true, [4]], [4]],
  "values that aren't allowed": [{ not: { enum: [4, "a", true] } }, [3, "b", false, null], [4, "a", true]],
  "a property that isn't a number": [
    { type: "object", properties: { a: { type: "integer", not: { const: 4 } } }, required: ["a"] },
    [{ a: 3 }, { a: -40 }],
    [{ a: 4 }],
  ],
  "limits that are close": [{ type: "number", minimum: 1e-9, maximum: 2e-9 }, [], [0, 1]],
  "an excluded limit that is close": [{ exclusiveMinimum: 0.1, maximum: 0.1000001 }, [0.1000001], [0.1]],
  "limits that are neighbors": [{ minimum: 0.1, exclusiveMaximum: 0.10000000000000002 }, [0.1], [0.2]],
  "tiny limits": [{ minimum: 5e-324, maximum: 5e-324 }, [5e-324], [0, 1]],
  "a large minimum": [
    { type: "integer", minimum: 9007199254740990 },
    [9007199254740990, 9007199254740991],
    [900719925474099],
  ],
  "a large maximum": [{ type: "integer", maximum: 1e21 }, [999999999999999, 0, -5], [1000000000000000]],
  "a large excluded minimum": [{ exclusiveMinimum: 9007199254740992 }, [9007199254740994], [9007199254740992]],
  "multiples of 0.25": [{ type: "number", multipleOf: 0.25 }, [0, 0.25, 7.5, -3.75, 12], [0.3, 7.55, 0.125]],
  "multiples of 2.5": [{ type: "number", multipleOf: 2.5, minimum: 0 }, [0, 2.5, 5, 102.5], [2, 2.6, 101, -2.5]],
  "integers that are multiples of 2.5": [{ type: "integer", multipleOf: 2.5 }, [0, 5, -10, 1005], [2, 3, 2.5]],
  "multiples above a minimum": [{ type: "integer", multipleOf: 3, minimum: 10 }, [12, 15, 3000], [9, 10, 13]],
  "multiples below a maximum": [{ type: "integer", multipleOf: 7, exclusiveMaximum: 14 }, [7, 0, -7], [14, 21, 6]],
  "multiples within far limits": [
    { type: "integer", multipleOf: 9, minimum: -1e6, maximum: 1e6 },
    [999999, -9, 0],
    [10, 1000008],
  ],
  "a format of integers": [{ type: "integer", format: "int8" }, [-128, 127], [128, -129]],
  "a format of numbers": [{ type: "number", format: "double" }, [1.5], ["1"]],
  "unique booleans": [
    { type: "array", items: { type: "boolean" }, uniqueItems: true },
    [[], [false], [false, true]],
    [[true, true]],
  ],
};

for (const [name, [schema, good, bad]] of Object.entries(OWN)) test(name, () => checkSchema(schema, good, bad));

test("numbers have at most 15 digits unless a limit needs more", () => {
  const digits = (schema, most) => {
    const draw = textsOf(schemaGrammar(schema, "schema"), randomFrom(2));
    for (let i = 0; i < 200; i++) {
      const text = draw();
      assert.ok(text.replace(/\D/g, "").length <= most, text);
    }
  };
  digits({ type: "integer", maximum: 1e21 }, 15);
  digits({ type: "number", maximum: 1e21, minimum: 0 }, 15);
  digits({ type: "number", minimum: 1e12 }, 15);
  digits({ type: "integer", minimum: 9007199254740990 }, 17);
  digits({ exclusiveMinimum: 1e20 }, 22);
});

test("multiples between limits are so in f64 too, by which validators divide", () => {
  const random = randomFrom(8);
  for (const multipleOf of [0.1, 0.01, 0.3, 0.7, 1.1, 0.05, 12.5, 3])
    for (let i = 0; i < 10; i++) {
      const minimum = Math.round((random() - 0.5) * 100) / 10;
      const schema = { type: "number", multipleOf, minimum, maximum: minimum + multipleOf * 40 };
      const validate = new Ajv2020.default().compile(schema);
      const draw = textsOf(schemaGrammar(schema, "schema"), random);
      for (let j = 0; j < 50; j++) {
        const text = draw();
        assert.ok(validate(JSON.parse(text)), `${text} in ${JSON.stringify(schema)}`);
      }
    }
});
