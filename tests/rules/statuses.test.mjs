// Every status of the core has a text in src/base/status.cpp, and an error code and a field in bindings/statuses.cpp.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

/** The names that a pattern finds in a file, in order. */
const namesIn = (text, pattern) => Array.from(text.matchAll(pattern), ([, name]) => name);

const statuses = namesIn(
  (await read("src/base/status.h")).match(/enum class Status : int \{([^}]*)\}/)[1],
  /^\s*(\w+),/gm,
);

test("every status has a text in the core", async () => {
  const text = await read("src/base/status.cpp");
  assert.deepEqual(namesIn(text, /case Status::(\w+):\s*return \{/g), statuses);
  const javaScriptNames = namesIn(text, /\{"([^"]*[A-Z][^"]*)",/g);
  assert.deepEqual(javaScriptNames, [], "subjects are the core's own names, in snake_case");
});

test("every status has an error code and a field in the bindings", async () => {
  const errors = await read("web/src/base/errors.ts");
  const codes = new Set(namesIn(errors.match(/type RopewalkErrorCode =([^;]*);/)[1], /"(\w+)"/g));
  const text = await read("bindings/statuses.cpp");
  const constants = new Map(
    Array.from(text.matchAll(/const char\* (k\w+) = "(\w+)"/g), ([, name, code]) => [name, code]),
  );
  const cases = Array.from(text.matchAll(/case Status::(\w+):\s*return \{([^,]*),\s*"([^"]*)"/g));
  assert.deepEqual(
    cases.map(([, status]) => status),
    statuses,
  );
  for (const [, status, given, field] of cases) {
    if (status === "ok") continue;
    const code = constants.get(given) ?? JSON.parse(given);
    assert.ok(codes.has(code), `${status}: ${code} is not a RopewalkErrorCode`);
    assert.ok(field !== "" || ["out_of_memory", "thread_lost"].includes(status), `${status} names no field`);
  }
});
