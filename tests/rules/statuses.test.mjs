// Every status of the core has the code of an error that users see, and all but two a field.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

test("every status has an error code and a field", async () => {
  const errors = await read("web/src/core/base/errors.ts");
  const codes = Array.from(
    errors.match(/type RopewalkErrorCode =([^;]*);/)[1].matchAll(/"(\w+)"/g),
    ([, code]) => code,
  );
  const list = await read("src/base/status.def");
  const rows = Array.from(list.matchAll(/^ROPEWALK_STATUS\((\w+), (\w+), "([^"]*)",/gm), ([, name, code, field]) => ({
    name,
    code,
    field,
  }));
  assert.equal(rows.length, list.match(/^ROPEWALK_STATUS\(/gm).length);
  assert.deepEqual(rows.shift(), { name: "ok", code: "OK", field: "" });
  for (const { name, code, field } of rows) {
    assert.ok(codes.includes(code), `${name}: ${code} is not a RopewalkErrorCode`);
    assert.ok(field !== "" || ["out_of_memory", "thread_lost"].includes(name), `${name} names no field`);
  }
});
