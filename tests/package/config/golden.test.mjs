// Reads every config of the golden vectors and compares its widths and type with those of transformers. The
// frequencies are compared in tests/package/rope.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { load, ropeConfig } from "ropewalk";

const golden = (name) => JSON.parse(readFileSync(new URL(`../../golden/${name}.json`, import.meta.url), "utf8"));

const rw = await load();

for (const { name, hf_config, layer_type, rotary_dim, rope_type } of golden("frequencies")) {
  test(name, () => {
    const config = ropeConfig(hf_config, layer_type === null ? {} : { layer_type });
    withRope(rw.rope(config), (rope) => assert.equal(rope.plan().rotary_dim, rotary_dim));
    // transformers calls HunYuan's constant change of base dynamic.
    const type = config.rope_scaling?.rope_type ?? "default";
    assert.equal(type, config.rope_scaling?.alpha === undefined ? rope_type : "ntk_alpha");
  });
}

test("configs of llama.cpp, vLLM, lucidrains and the YaRN authors", () => {
  for (const { config } of golden("other_systems"))
    withRope(rw.rope(config), (rope) => assert.ok(rope.plan().rotary_dim > 0));
});

function withRope(rope, use) {
  try {
    use(rope);
  } finally {
    rope.dispose();
  }
}
