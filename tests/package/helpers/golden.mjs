// The golden vectors (tests/golden/README.md says what each case asserts), and the ropes of their configurations.
import { readFileSync } from "node:fs";
import { ropeConfig } from "ropewalk";

export function golden(name) {
  return JSON.parse(readFileSync(new URL(`../../golden/${name}.json`, import.meta.url), "utf8"));
}

/**
 * Configurations that `ropeConfig` does not read, because a person writes them by hand: vision towers, whose rotation stands beside the text
 * model's, and nanochat, which turns the other way and so has to be asked for with its pairing named.
 */
const byHand = {
  "qwen2-vl-vision": { head_dim: 80, pairing: "half", mrope_section: [20, 20], mrope_layout: "vision" },
};

/** The config of a case of frequencies.json or rotations.json. */
export function configOf({ name, hf_config, layer_type, opposite_direction }, overrides = {}) {
  if (name in byHand) return { ...byHand[name], ...overrides };
  if (opposite_direction) overrides = { pairing: "half", ...overrides };
  return ropeConfig(hf_config, { ...(layer_type !== null && { layer_type }), overrides });
}
