// What a narrower cache costs the small model. docs/kv_caches.md has the numbers, which this file measures and compares.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { measureSmallModel } from "../bench/caches/measure.mjs";
import { rw } from "../package/helpers/runtime.mjs";

const docs = readFileSync(new URL("../../docs/kv_caches.md", import.meta.url), "utf8");
const [, table] = docs.split("eight stories of 256 tokens:\n");
const rows = await measureSmallModel(rw);

for (const { dtype, keys, perplexity, mean, high, same, right, asked } of rows) {
  const name = `\`${dtype}\`${keys ? `, ${keys} keys` : ""}`;
  test(`what a cache of ${name} costs is what the docs say`, (t) => {
    t.diagnostic(
      `perplexity ${perplexity.toFixed(4)}, mean KL ${mean.toExponential(2)}, 99.9 % ${high.toExponential(2)}`,
    );
    const line = table.split("\n").find((line) => line.startsWith(`| ${name} |`));
    assert.ok(line, `docs/kv_caches.md has a row of ${name}`);
    const [statedPerplexity, statedMean, statedHigh, , statedSame, found] = line.split(" | ").slice(1);
    assert.ok(Math.abs(perplexity - Number(statedPerplexity)) <= 2e-3, statedPerplexity);
    // builds round otherwise
    assert.ok(Math.abs(mean - Number(statedMean)) <= 0.35 * Number(statedMean), statedMean);
    assert.ok(Math.abs(high - Number(statedHigh)) <= 0.5 * Number(statedHigh), statedHigh);
    assert.ok(Math.abs(100 * same - Number.parseFloat(statedSame)) <= 0.5, statedSame);
    assert.equal(`${right} of ${asked} |`, found);
  });
}
