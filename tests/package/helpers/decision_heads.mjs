// Tiny decision checkpoints: the files of a case that tests/golden/generate/random/decision_heads.py drew.
import { readFileSync } from "node:fs";
import { formulaFiles, formulaGguf } from "../../files/formula_models.mjs";

const tokenizer = readFileSync(new URL("../../files/decision_tokenizer.json", import.meta.url), "utf8");
const { model, added_tokens } = JSON.parse(tokenizer);
const file = (name, value) => new File([typeof value === "string" ? value : JSON.stringify(value)], name);

/** The vocabulary as llama.cpp's converter writes it. */
function vocabulary() {
  const tokens = Object.entries(model.vocab).concat(added_tokens.map(({ content, id }) => [content, id]));
  const byId = [];
  for (const [token, id] of tokens) byId[id] = token;
  const special = new Map(added_tokens.map(({ id, special: isControl }) => [id, isControl ? 3 : 4]));
  return {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": byId,
    "tokenizer.ggml.token_type": byId.map((_, id) => special.get(id) ?? 1),
    "tokenizer.ggml.merges": model.merges.map((pair) => pair.join(" ")),
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 0,
    "tokenizer.ggml.seperator_token_id": 2,
    "tokenizer.ggml.mask_token_id": 4,
    "tokenizer.ggml.token_type_count": 3,
  };
}

/** As `rw.model()` takes them. Keys of metadata that are undefined are left out. */
export function checkpointFiles({ gguf, encoder, config, tensors }) {
  if (gguf !== undefined) {
    const given = Object.fromEntries(Object.entries(gguf).filter(([, value]) => value !== undefined));
    return formulaGguf({ metadata: { "general.architecture": "modern-bert", ...given, ...GGUF_VOCABULARY }, tensors });
  }
  const others = [
    file(config.architecture === "JuliaDecisionModel" ? "julia_config.json" : "rl_agent_config.json", config),
    file("encoder/config.json", encoder),
    file("tokenizer/tokenizer.json", tokenizer),
    file("tokenizer/tokenizer_config.json", {
      cls_token: "[CLS]",
      sep_token: "[SEP]",
      mask_token: { content: "[MASK]" },
    }),
  ];
  return formulaFiles({ config: {}, tensors }, others).filter(({ name }) => name !== "config.json");
}

/** The tokens as keys of GGUF. */
export const GGUF_VOCABULARY = vocabulary();
