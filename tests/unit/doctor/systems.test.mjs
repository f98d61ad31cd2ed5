// SGLang and MLX in the Doctor: the frequencies and factors that their released code computes (tests/golden/doctor/systems.json).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { planBy, systemNamed } from "../../../build/package/apps/doctor/known_systems.js";
import { ropeConfig } from "../../../build/package/core/config/rope_config.js";
import { rw } from "../../package/helpers/runtime.mjs";
import { diagnosed } from "../../package/doctor/cases.mjs";

const { cases, source } = JSON.parse(
  readFileSync(new URL("../../golden/doctor/systems.json", import.meta.url), "utf8"),
);

/** Both systems compute angles, cosines and sines in f32; 1.6e-6 was seen. */
const TOLERANCE = 3e-6;
const isNear = (value, expected) => Math.abs(value / expected - 1) <= TOLERANCE;

for (const { name, system, config, length, inv_freq, attention_factor, softmax } of cases) {
  test(name, () => {
    const rope = ropeConfig(config);
    const plan = planBy(rw, systemNamed(system), rope, length);
    assert.equal(plan.inv_freq.length, inv_freq.length);
    inv_freq.forEach((expected, pair) =>
      assert.ok(isNear(plan.inv_freq[pair], expected), `pair ${pair}: ${plan.inv_freq[pair]}, not ${expected}`),
    );
    assert.ok(isNear(plan.attention_factor, attention_factor), `${plan.attention_factor}, not ${attention_factor}`);
    const unscaled = planBy(
      rw,
      systemNamed(system),
      ropeConfig({ ...config, rope_scaling: null }),
      length,
    ).softmax_scale;
    assert.ok(
      isNear(plan.softmax_scale / unscaled, softmax),
      `softmax ${plan.softmax_scale / unscaled}, not ${softmax}`,
    );
  });
}

test("the versions are those of the golden file", () => {
  for (const name of ["SGLang", "MLX"])
    assert.match(source, new RegExp(`\\b${systemNamed(name).version.replaceAll(".", "\\.")}\\b`));
});

const { config: notRounded } = cases.find(({ name }) => name.startsWith("MLX/yarn-not-rounded"));
const longrope = cases.find(({ name }) => name.startsWith("MLX/longrope")).config;
const reportOf = async (config, system, length) =>
  (await diagnosed(config, length)).systems.find((report) => report.system === system);

test("what the report says of MLX", async () => {
  const { same, ignores, reasons, maxLength, compat } = await reportOf(notRounded, "MLX");
  assert.deepEqual([same, ignores, maxLength, compat], [false, ["truncate"], null, null]);
  assert.deepEqual(reasons, ["MLX always rounds the correction range, so truncate has no effect"]);
  const short = await reportOf(longrope, "MLX", 1000);
  assert.equal(short.same, false);
  assert.ok(!short.reads.includes("short_factor"));
  assert.deepEqual(short.reasons, ["MLX takes long_factor at every length"]);
  assert.equal((await reportOf(longrope, "MLX", 100000)).same, true);
});

test("what the report says of SGLang", async () => {
  const yarn = { ...notRounded.rope_scaling, attention_factor: 1.2, attn_factor: 0.9 };
  const { same, reads, ignores, reasons, maxLength } = await reportOf({ ...notRounded, rope_scaling: yarn }, "SGLang");
  assert.deepEqual([same, ignores, maxLength], [false, ["attention_factor"], 131072]);
  assert.ok(reads.includes("attn_factor") && reads.includes("truncate"));
  assert.match(reasons[0], /^SGLang doesn't read attention_factor\. It multiplies YaRN's own factor by attn_factor$/);
  const linear = cases.find(({ name }) => name.startsWith("SGLang/linear")).config;
  assert.equal((await reportOf(linear, "SGLang")).maxLength, 4 * 32768);
  const dynamic = cases.find(({ name }) => name.startsWith("SGLang/dynamic")).config;
  assert.equal((await reportOf(dynamic, "SGLang", 100)).same, false);
});

test("the lines for both are checked", async () => {
  const qwen = cases.find(({ name }) => name.startsWith("MLX/plain")).config;
  const { recipe } = await diagnosed(qwen, 100000);
  const [sglang, mlx] = ["SGLang", "MLX"].map((system) => recipe.blocks.find((block) => block.system === system));
  assert.ok(sglang.checked.same && mlx.checked.same);
  assert.match(
    sglang.text,
    /--context-length 100000 \\\n {2}--json-model-override-args '\{ "max_position_embeddings": 131072/,
  );
  assert.deepEqual(JSON.parse(mlx.text).rope_theta, 1e6);
  // keys that a system ignores are named
  const own = { ...notRounded, max_position_embeddings: 4096 };
  const blocks = (await diagnosed(own, 100000)).recipe.blocks.filter(({ system }) => system === "MLX");
  assert.match(blocks[0].checked.text, /^MLX can't do the same: .* pair \d+ turns/);
});
