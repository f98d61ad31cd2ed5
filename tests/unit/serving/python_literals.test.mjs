// Python's literals in calls, as ast.literal_eval reads them: texts drawn at random (tests/golden/generate/random/python_literals.py).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { pythonValue } from "../../../build/package/apps/serving/calls/python_literal.js";

const folder = process.env.ROPEWALK_RANDOM ?? fileURLToPath(new URL("../../golden/random/", import.meta.url));
const cases = JSON.parse(readFileSync(join(folder, "python_literals.json"), "utf8"));

/** What is read though Python refuses it: strings with line breaks, and the names that JSON has. */
const MORE = /[\n\r]|\b(?:true|false|null)\b/;
/** What isn't read though Python does: characters by name. */
const LESS = /\\N/;

/** The JSON that was read, in the form of the golden file. */
function valueOf(json) {
  const tokens = json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `{"number":"${token}"}`,
  );
  return JSON.parse(tokens);
}

function assertSame(found, expected, text) {
  const shown = JSON.stringify(text);
  if (expected === null) return assert.equal(found, expected, shown);
  if (typeof expected !== "object") return assert.equal(found, expected, shown);
  if (Array.isArray(expected)) {
    assert.equal(found.length, expected.length, shown);
    return expected.forEach((item, i) => assertSame(found[i], item, text));
  }
  const [[kind, value]] = Object.entries(expected);
  if (kind === "none") assert.equal(found, null, shown);
  else if (kind === "int") assert.equal(found.number, value, shown);
  else if (kind === "float")
    assert.ok(
      Object.is(Number(found.number), value === "inf" ? Infinity : value === "-inf" ? -Infinity : Number(value)),
      shown,
    );
  else if (kind === "set") {
    assert.equal(found.length, value.length, shown);
    const isIn = (item) => value.some((one) => isSame(item, one, text));
    assert.ok(found.every(isIn), shown);
  } else {
    const keys = (object) => Object.keys(object).map(normalKey).sort();
    assert.deepEqual(keys(found), keys(value), shown);
    const byKey = Object.fromEntries(Object.entries(found).map(([key, item]) => [normalKey(key), item]));
    for (const [key, item] of Object.entries(value)) assertSame(byKey[normalKey(key)], item, text);
  }
}

/** A key that is a number, as JavaScript writes it: numbers stay as they are written, and json.dumps writes 1.5 for 1.50. */
function normalKey(key) {
  if (/^-?inf$/.test(key)) return `#${key.replace("inf", "Infinity")}`;
  return /^-?[\d.]+(?:e[+-]?\d+)?$/i.test(key) && /[.e]/i.test(key) ? `#${Number(key)}` : key;
}

function isSame(found, expected, text) {
  try {
    assertSame(found, expected, text);
    return true;
  } catch {
    return false;
  }
}

test(`${cases.length} texts`, () => {
  for (const [text, expected] of cases) {
    const json = pythonValue(text);
    if (json === undefined) {
      if (!LESS.test(text)) assert.equal(expected, null, JSON.stringify(text));
    } else if (expected === null) assert.match(text, MORE, `${JSON.stringify(text)} is ${json}`);
    else assertSame(valueOf(json), expected, text);
  }
});
