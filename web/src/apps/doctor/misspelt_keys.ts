// Finds keys of a config.json that nothing reads, and whose names are nearly those of keys that this package reads: those that
// decide the RoPE, and those of the model's class that the file leaves out.
import type { Dict } from "../../core/base/dict.js";
import { RopewalkError } from "../../core/base/errors.js";
import { nearest } from "../../core/base/options.js";
import { textConfigOf } from "../../core/config/huggingface.js";
import { SIZE_KEYS, type TextConfig } from "../../core/config/huggingface_rope.js";
import { CONFIG_KEYS } from "../../core/config/read_config.js";
import { ggufSourceOf } from "../../core/config/rope_config.js";
import { CLASS_ALIASES } from "../../runtime/model/config/class_aliases.js";
import { CLASS_DEFAULTS } from "../../runtime/model/config/class_defaults.js";
import type { Finding } from "./diagnosis.js";

/** Keys of a config.json that decide its RoPE and the layers that have it, beside those of CONFIG_KEYS and SIZE_KEYS. */
const LAYER_KEYS =
  "num_hidden_layers num_key_value_heads layer_types sliding_window use_sliding_window max_window_layers " +
  "sliding_window_pattern no_rope_layers no_rope_layer_interval rope_local_base_freq rotary_emb_base rope_interleave " +
  "qk_rope_head_dim qk_nope_head_dim global_head_dim swa_rope_theta partial_rotary_factors";

const ROPE_KEYS: readonly string[] = [...Object.keys(CONFIG_KEYS), ...SIZE_KEYS, ...LAYER_KEYS.split(" ")];

/** Names among them that other keys are like, such as in_channels. */
const TOO_COMMON = ["kv_channels", "max_seq_len", "decoder_num_attention_heads"];
/** Keys that aren't misspelt, though they are nearly those. */
const OTHER_KEYS = ["position_embeddings_type", "hidden_sizes"];

/** Letters in which a misspelt key may differ from the right one: two that changed places count as two. */
const MOST = 2;
/** Shorter names differ from other keys in as few letters. */
const SHORTEST = 8;

/** A finding for each misspelt key of a config.json. */
export function misspeltKeys(source: Dict): Finding[] {
  const text = ggufSourceOf(source) === undefined ? textPart(source) : undefined;
  if (text === undefined) return [];
  const { config, path, model_type = "" } = text;
  const ofClass = Object.hasOwn(CLASS_DEFAULTS, model_type) ? Object.keys(CLASS_DEFAULTS[model_type]!) : [];
  const missing = ofClass.filter((name) => !Object.hasOwn(config, name));
  const wanted = [...ROPE_KEYS, ...missing].filter((name) => name.length >= SHORTEST && !TOO_COMMON.includes(name));
  const known = knownKeys();
  return Object.keys(config).flatMap((key): Finding[] => {
    if (known.has(key) || key.length < SHORTEST || key.startsWith("_")) return [];
    const meant = nearest(key, wanted, key.length < 10 ? 1 : MOST);
    if (meant === undefined) return [];
    const message = `isn't a key that any reader knows; did you mean ${meant}? As it is written, it changes nothing.`;
    return [
      {
        code: "key-misspelt",
        severity: "warning",
        field: path + key,
        text: message,
        source: "docs/doctor.md#findings",
      },
    ];
  });
}

function textPart(source: Dict): TextConfig | undefined {
  try {
    return textConfigOf(source);
  } catch (error) {
    if (error instanceof RopewalkError) return undefined; // said elsewhere
    throw error;
  }
}

/** Keys that are right: those above, and what the classes of transformers have. */
function knownKeys(): ReadonlySet<string> {
  const ofClasses = [...Object.values(CLASS_DEFAULTS), ...Object.values(CLASS_ALIASES)].flatMap((row) =>
    Object.keys(row),
  );
  return new Set([...ROPE_KEYS, ...OTHER_KEYS, ...ofClasses]);
}
