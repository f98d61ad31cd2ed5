// JSON with keys in their order, compared with JSON.parse() on random texts.
import assert from "node:assert/strict";
import test from "node:test";
import { parseOrdered, writeOrdered } from "../../../build/package/apps/decisions/ordered_json.js";
import { randomSource } from "../../package/helpers/hostile.mjs";

const plain = (value) => {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]));
  return Array.isArray(value) ? value.map(plain) : value;
};

test("keys that are integers stay where they are", () => {
  const text = '{"b":1,"10":{"2":[],"1":"a: \\"b\\": {"},"9":null,"__proto__":{"x":"\\\\"}}';
  assert.equal(writeOrdered(parseOrdered(text)), text);
  assert.deepEqual([...parseOrdered(text).keys()], ["b", "10", "9", "__proto__"]);
});

test("has the values of JSON.parse()", () => {
  const { pick, below } = randomSource(7);
  const string = () =>
    Array.from({ length: below(6) }, () => pick(['"', "\\", ":", " ", "a", "1", "é", "\n", "{", "\u2028", "😀"])).join(
      "",
    );
  const value = (depth) => {
    const kind = below(depth > 3 ? 4 : 6);
    if (kind === 0) return string();
    if (kind < 4) return pick([null, true, 1.5, -2, 1e300]);
    if (kind === 4) return Array.from({ length: below(4) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: below(4) }, () => [string(), value(depth + 1)]));
  };
  for (let i = 0; i < 3000; i++) {
    const text = JSON.stringify(value(0), null, pick([0, 1]));
    assert.deepEqual(plain(parseOrdered(text)), JSON.parse(text), text);
    assert.deepEqual(JSON.parse(writeOrdered(parseOrdered(text))), JSON.parse(text));
  }
  for (const text of ["", "{", '{"a":1,}', "{a:1}", '"\n"']) assert.throws(() => parseOrdered(text), SyntaxError);
});

test("long strings", () => assert.equal(parseOrdered(JSON.stringify({ a: '\\"'.repeat(1e6) })).get("a").length, 2e6));
