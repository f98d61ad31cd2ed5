// A schema inside another one: its references lead to the same parts as before.
import assert from "node:assert/strict";
import test from "node:test";
import { nestedSchema } from "../../../build/package/serving/nested_schema.js";

test("references move with the schema", () => {
  const schema = {
    $id: "https://knots.example/rope",
    properties: { a: { $ref: "#/$defs/a" }, $ref: { $ref: "#" }, const: { items: [{ $ref: "#/properties/a" }] } },
    $defs: { a: { anyOf: [{ $ref: "https://knots.example/rope#/$defs/a" }, { $ref: "https://knots.example/rope" }] } },
  };
  assert.deepEqual(nestedSchema(schema, "#/items"), {
    properties: {
      a: { $ref: "#/items/$defs/a" },
      $ref: { $ref: "#/items" },
      const: { items: [{ $ref: "#/items/properties/a" }] },
    },
    $defs: { a: { anyOf: [{ $ref: "#/items/$defs/a" }, { $ref: "#/items" }] } },
  });
});

test("data and other addresses stay", () => {
  const schema = {
    properties: {
      a: { const: { $ref: "#" }, enum: [{ $ref: "#" }], default: { $ref: "#" } },
      b: { $ref: "other.json" },
    },
    anyOf: [true, { $ref: "#anchor" }],
  };
  assert.deepEqual(nestedSchema(schema, "#/items"), schema);
});
