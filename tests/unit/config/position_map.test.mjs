// The numbers that a position map needs for a length.
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  largestDistance,
  longestWithin,
  mapFor,
  plainUpTo,
  POSITION_MAP_TYPES,
} from "../../../build/package/core/config/position_map.js";

const anyCase = {
  type: fc.constantFrom(...POSITION_MAP_TYPES),
  limit: fc.integer({ min: 1, max: 40_000 }),
  length: fc.integer({ min: 1, max: 2_000_000 }),
};

test("a map for a length keeps its distances below the limit", () => {
  fc.assert(
    fc.property(fc.record(anyCase), ({ type, limit, length }) => {
      const map = mapFor(type, limit, length);
      assert.ok(largestDistance(map, length) < Math.max(2, limit), JSON.stringify({ map, limit, length }));
      assert.ok(longestWithin(map, Math.max(2, limit)) >= length);
      for (const [name, value] of Object.entries(map))
        if (name !== "type") assert.ok(Number.isInteger(value) && value >= 0);
      assert.ok(plainUpTo(map) >= 1);
    }),
    { numRuns: 2000 },
  );
});
