// Keys that JavaScript gives a meaning of its own, as a JSON file can contain them, are ordinary unknown keys: nothing is inherited or polluted.
import assert from "node:assert/strict";
import test from "node:test";
import { overrideRopeConfig, ropeConfig } from "ropewalk";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
const plain = { head_dim: 8, pairing: "half" };
const withKey = (object, name) =>
  JSON.parse(`${JSON.stringify(object).slice(0, -1)},"${name}":{"factor":4,"head_dim":16}}`);

for (const name of NAMES) {
  test(`${name} in configs`, () => {
    raises(() => rw.rope(withKey(plain, name)), "UNKNOWN_KEY", name);
    const scaling = { rope_type: "linear", factor: 2 };
    raises(() => rw.rope({ ...plain, rope_scaling: withKey(scaling, name) }), "UNKNOWN_KEY", `rope_scaling.${name}`);
    raises(() => overrideRopeConfig(plain, withKey({ rope_theta: 5 }, name)), "UNKNOWN_KEY", `overrides.${name}`);
    assert.equal({}.factor, undefined);
    assert.equal({}.head_dim, undefined);
  });

  test(`${name} in a model's config.json and as a name`, () => {
    const llama = { model_type: "llama", hidden_size: 32, num_attention_heads: 4 };
    withRope(rw.rope(ropeConfig(withKey(llama, name))), (rope) => assert.equal(rope.config.head_dim, 8));
    raises(() => ropeConfig({ ...llama, model_type: name }), "UNKNOWN_FAMILY", "model_type");
    raises(
      () => rw.rope({ ...plain, rope_scaling: { rope_type: name } }),
      "UNSUPPORTED_ROPE_TYPE",
      "rope_scaling.rope_type",
    );
    raises(() => rw.rope({ ...plain, pairing: name }), "INVALID_CONFIG", "pairing");
    raises(() => rw.kvCache({ rope: plain, kvHeads: 1, maxLength: 4, dtype: name }), "INVALID_DTYPE", "dtype");
    assert.equal({}.factor, undefined);
  });
}
