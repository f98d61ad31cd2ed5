// Which layers of hybrid models have RoPE, if their config doesn't list the kinds of its layers: the rules of their
// classes. Separate from families.ts, so that apps that only call ropeConfig() don't load them.
import { listOf, type TextConfig } from "./huggingface_rope.js";
import { integerAt, isAbsent } from "./values.js";

/** Whether a layer has RoPE. */
type HasRope = (layer: number, count: number) => boolean;
type Rule = (text: TextConfig) => HasRope;

/** Layers that a key lists. */
const listedIn =
  (key: string, absent: HasRope): Rule =>
  (text) =>
    isAbsent(text.config[key]) ? absent : (layer) => listOf(text, key).includes(layer);

/** Every n-th layer. */
const everyNth =
  (key: string, absent: number): Rule =>
  ({ config, path }) => {
    const period = isAbsent(config[key]) ? absent : integerAt(config[key], path + key);
    return (layer) => (layer + 1) % period === 0;
  };

/** Layers that a list of 1 (attention) and 0 (linear attention) names. */
const flaggedIn =
  (key: string, absent: HasRope): Rule =>
  (text) =>
    isAbsent(text.config[key]) ? absent : (layer) => listOf(text, key)[layer] === 1;

const always =
  (hasRope: HasRope): Rule =>
  () =>
    hasRope;

/** recurrent_gemma repeats a list of blocks. */
const repeatedBlocks: Rule = (text) => {
  const given = listOf(text, "block_types");
  const blocks = given.length > 0 ? given : ["recurrent", "recurrent", "attention"];
  return (layer) => blocks[layer % blocks.length] === "attention";
};

const ZAMBA_2 = [6, 12, 18, 24, 30, 36, 42, 47, 51];

type Rules = Readonly<Record<string, Rule>>;

// Functions, so that bundlers can drop the tables from apps that never ask for the layers.

/** Source: the configuration classes of transformers 5.24. MiniMax's list is of the code in its own repositories. */
const attentionRules = (): Rules => ({
  bamba: listedIn("attn_layer_indices", () => false),
  "lfm2 lfm2_moe": listedIn("full_attn_idxs", () => true),
  zamba2: listedIn("hybrid_layer_ids", (layer) => ZAMBA_2.includes(layer)),
  "qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text qwen4_exp qwen4_exp_text": everyNth(
    "full_attention_interval",
    4,
  ),
  bailing_hybrid: everyNth("layer_group_size", 6),
  olmo_hybrid: always((layer, count) => (count < 4 ? layer === count - 1 : layer % 4 === 3)),
  granitemoehybrid: always(() => false),
  minimax: flaggedIn("attn_type_list", (layer) => layer % 2 === 0),
  "minimax_text_01 minimax_m1 MiniMaxText01 MiniMaxM1": flaggedIn("attn_type_list", () => true),
  recurrent_gemma: repeatedBlocks,
  lfm3: always((layer) => layer % 4 === 2 || (layer % 4 === 0 && layer > 0)),
});

/** Cohere 2 MoE has another period for its first layers, which have no experts. */
const cohereMoe: Rule = ({ config, path }) => {
  const [dense, period, densePeriod] = (
    [
      ["first_k_dense_replace", 0],
      ["sliding_window_pattern", 4],
      ["prefix_dense_sliding_window_pattern", 1],
    ] as const
  ).map(([key, absent]) => (isAbsent(config[key]) ? absent : integerAt(config[key], path + key))) as [
    number,
    number,
    number,
  ];
  return (layer) => (layer < dense ? (layer + 1) % densePeriod !== 0 : (layer - dense + 1) % period !== 0);
};

/** Families whose full-attention layers have no RoPE. Theirs isn't a period in the config. */
const slidingRules = (): Rules => ({
  cohere2_moe: cohereMoe,
  beam: always((layer, count) => (layer + 1) % 6 !== 0 && layer !== count - 1),
  flint: always((layer, count) => layer >= 2 && layer % 4 !== 1 && layer !== count - 1),
  kolibri1: always((layer) => (layer + 1) % 5 !== 0),
  lara_mini: always((layer) => layer % 5 === 1 || layer % 5 === 4),
  "muse_glimmer_text muse_spark_text": always((layer, count) => (count - 1 - layer) % 4 !== 0),
});

function ruleOf(rules: Rules, text: TextConfig): HasRope | undefined {
  const { model_type } = text;
  const row = Object.entries(rules).find(
    ([names]) => model_type !== undefined && names.split(" ").includes(model_type),
  );
  return row?.[1](text);
}

/** Which layers have attention, and so RoPE; undefined for a family where all have. @throws INVALID_CONFIG */
export const attentionRule = (text: TextConfig): HasRope | undefined => ruleOf(attentionRules(), text);

/** Which layers slide, in a family with RoPE on those only; undefined if the config has the pattern. */
export const slidingRule = (text: TextConfig): HasRope | undefined => ruleOf(slidingRules(), text);
