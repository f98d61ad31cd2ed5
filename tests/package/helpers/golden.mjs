// Reads the golden vectors (see tests/golden/README.md) and the configs of their cases.
import { readFileSync } from "node:fs";
import { ropeConfig } from "ropewalk";

export function golden(name) {
  return JSON.parse(readFileSync(new URL(`../../golden/${name}.json`, import.meta.url), "utf8"));
}

/**
 * Configs that `ropeConfig` doesn't read and users write by hand: vision towers, which have a rotation in addition to the text model's.
 */
const byHand = {
  "qwen2-vl-vision": { head_dim: 80, pairing: "half", mrope_section: [20, 20], mrope_layout: "vision" },
};

/** The config of a case of frequencies.json or rotations.json. */
export function configOf({ name, hf_config, layer_type }, overrides = {}) {
  if (name in byHand) return { ...byHand[name], ...overrides };
  return ropeConfig(hf_config, { ...(layer_type !== null && { layer_type }), overrides });
}
