// Names of modules that transformers 5 changed, while model files keep the older ones.

type Renames = readonly (readonly [newer: RegExp, older: string])[];

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
];
const JINA: Renames = [
  [/(^|\.)layers\./, "$1encoder.layers."],
  [/\.self_attn\.o_proj\./, ".mixer.out_proj."],
];
const GTE: Renames = [
  [/(^|\.)layers\./, "$1encoder.layer."],
  [/\.self_attn\.o_proj\./, ".attention.o_proj."],
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
  gpt_neox: GPT_NEOX,
  gptneox: GPT_NEOX,
  hy_v3: HY_V3,
};

/** The name of a module's weight in model files, given its name in transformers 5. @internal */
export function olderName(architecture: string, name: string): string {
  const renames = Object.hasOwn(RENAMES, architecture) ? RENAMES[architecture]! : [];
  return renames.reduce((changed, [newer, older]) => changed.replace(newer, older), name);
}
