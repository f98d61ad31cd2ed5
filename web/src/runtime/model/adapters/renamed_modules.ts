// Names of modules that transformers 5 changed or split, while model files keep the older ones.

/** One of `of` equal parts of the rows of a weight. @internal */
export interface RowPart {
  readonly index: number;
  readonly of: number;
}

type Renames = readonly (readonly [newer: RegExp, older: string, part?: RowPart])[];

/** Modules whose weights are one in files, one after the other. */
const split = (prefix: string, modules: readonly string[], older: string): Renames =>
  modules.map((module, index) => [new RegExp(`${prefix}${module}\\.`), older, { index, of: modules.length }]);

const QUERY_KEY_VALUE = ["q_proj", "k_proj", "v_proj"];

const EXAONE: Renames = [
  [/^model\.embed_tokens\./, "transformer.wte."],
  [/^model\.layers\./, "transformer.h."],
  [/\.self_attn\.o_proj\./, ".attn.attention.out_proj."],
  [/\.self_attn\./, ".attn.attention."],
  [/\.mlp\.gate_proj\./, ".mlp.c_fc_0."],
  [/\.mlp\.up_proj\./, ".mlp.c_fc_1."],
  [/\.mlp\.down_proj\./, ".mlp.c_proj."],
];
const NEMOTRON_H: Renames = [[/^model\./, "backbone."]];
const GRANITE: Renames = [[/\.block_sparse_moe\.router\.weight$/, ".block_sparse_moe.router.layer.weight"]];
const NOMIC: Renames = [
  [/(^|\.)layers\./, "$1encoder.layers."],
  [/\.self_attn\.o_proj\./, ".attn.out_proj."],
  [/\.mlp\.up_proj\./, ".mlp.fc11."],
  [/\.mlp\.gate_proj\./, ".mlp.fc12."],
  [/\.mlp\.down_proj\./, ".mlp.fc2."],
  ...split("\\.self_attn\\.", QUERY_KEY_VALUE, ".attn.Wqkv."),
];
const JINA: Renames = [
  [/(^|\.)layers\./, "$1encoder.layers."],
  [/\.self_attn\.o_proj\./, ".mixer.out_proj."],
  ...split("\\.self_attn\\.", QUERY_KEY_VALUE, ".mixer.Wqkv."),
];
const GTE: Renames = [
  [/(^|\.)layers\./, "$1encoder.layer."],
  [/\.self_attn\.o_proj\./, ".attention.o_proj."],
  ...split("\\.self_attn\\.", QUERY_KEY_VALUE, ".attention.qkv_proj."),
  ...split("\\.mlp\\.", ["up_proj", "gate_proj"], ".mlp.up_gate_proj."),
];

const GPT_NEOX: Renames = [[/^lm_head\./, "embed_out."]];
const HY_V3: Renames = [[/\.mlp\.shared_experts\./, ".mlp.shared_mlp."]];

/** By `model_type` and `general.architecture`. Source: `conversion_mapping.py` of transformers 5.24. */
const RENAMES: Readonly<Record<string, Renames>> = {
  exaone: EXAONE,
  nemotron_h: NEMOTRON_H,
  nemotron_h_moe: NEMOTRON_H,
  granitemoe: GRANITE,
  granitemoeshared: GRANITE,
  granitemoehybrid: GRANITE,
  granitehybrid: GRANITE,
  nomic_bert: NOMIC,
  "nomic-bert": NOMIC,
  jina_embeddings_v3: JINA,
  gte: GTE,
  new: GTE,
  gpt_neox: GPT_NEOX,
  gptneox: GPT_NEOX,
  hy_v3: HY_V3,
};

/** A weight in model files, and the part of its rows that a module of transformers 5 has; undefined for all. @internal */
export interface OlderName {
  readonly name: string;
  readonly part?: RowPart;
}

/** The weight in model files, given its name in transformers 5. @internal */
export function olderName(architecture: string, name: string): OlderName {
  const renames = Object.hasOwn(RENAMES, architecture) ? RENAMES[architecture]! : [];
  return renames.reduce<OlderName>(
    (changed, [newer, older, part]) =>
      newer.test(changed.name)
        ? { ...changed, name: changed.name.replace(newer, older), ...(part && { part }) }
        : changed,
    { name },
  );
}
