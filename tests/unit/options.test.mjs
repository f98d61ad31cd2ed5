// Checking options objects, and showing any value in a message.
import assert from "node:assert/strict";
import test from "node:test";
import { RopewalkError } from "../../build/package/core/base/errors.js";
import { checkOptions, optionNames } from "../../build/package/core/base/options.js";
import { printable, show } from "../../build/package/core/base/show.js";

const names = optionNames("rotate()", { layout: true, positions: true, inverse: true });
const rejected = (options, path) => {
  try {
    checkOptions(options, names, path);
  } catch (error) {
    assert.ok(error instanceof RopewalkError, String(error));
    return `${error.code} ${error.message}`;
  }
  return undefined;
};

test("known options pass, and undefined is no options", () => {
  const options = { layout: "thd" };
  assert.equal(checkOptions(options, names), options);
  assert.deepEqual(checkOptions(undefined, names), {});
  assert.equal(rejected(Object.create({ inverse: true })), undefined);
});

test("an unknown option is an error with the nearest name", () => {
  assert.equal(
    rejected({ invers: true }),
    'UNKNOWN_KEY invers: "invers" isn\'t an option of rotate(); did you mean inverse?',
  );
  assert.match(rejected({ zzz: undefined }), /use one of layout, positions, inverse/);
  assert.match(rejected({ layuot: 1 }, "layers[2]"), /^UNKNOWN_KEY layers\[2\]\.layuot/);
  assert.match(rejected(Object.create({ invers: 1 })), /^UNKNOWN_KEY/);
  assert.match(rejected({ ["x".repeat(1e6)]: 1 }), /^UNKNOWN_KEY/);
});

test("what isn't an options object is an error", () => {
  for (const value of [null, 1, "a", true, Symbol("s"), 1n, [], new Float32Array(1), () => 0]) {
    assert.match(
      rejected(value),
      /^INVALID_ARGUMENT options: must be an object with options of rotate\(\): [a-z]+, .* \(got /,
    );
  }
});

test("every value has a text", () => {
  const bad = { toString: () => assert.fail("called"), [Symbol.toPrimitive]: () => assert.fail("called") };
  const cases = [
    [1.5, "1.5"],
    [-0, "0"],
    [10n, "10n"],
    [null, "null"],
    [undefined, "undefined"],
    [Symbol("s"), "Symbol(s)"],
    ["a\u001b[2J", '"a\\u001b[2J"'],
    ["x".repeat(100), `"${"x".repeat(60)}…"`],
    [[1, "b", {}], '[1, "b", …]'],
    [Array(100).fill(0), "[0, 0, 0, 0, 0, 0, 0, 0, …]"],
    [new BigInt64Array(2), "a typed array"],
    [() => 0, "a function"],
    [bad, "an object"],
    [Object.create(null), "an object"],
  ];
  for (const [value, text] of cases) assert.equal(show(value), text);
});

test("messages have no control characters", () => {
  assert.equal(printable("a\u001b[2J\u009b\u202eb\nc"), "a\\u001b[2J\\u009b\\u202eb\nc");
  assert.equal(new RopewalkError("INVALID_FILE", "a\u0007", "b").message, "a\\u0007: b");
});
