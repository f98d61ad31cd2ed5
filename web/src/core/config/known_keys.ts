import { fail } from "../base/errors.js";
import * as advise from "../base/advice.js";
import type { Dict } from "../base/dict.js";

/** Parts of the names of keys that a model's config.json has. */
const PARTS =
  /^(model_type|architectures|(text|llm|language|thinker)_config)$|hidden_(size|dim)|(^|_)heads?(_|$)|layers?$|embd|rope|rotary|position|_dim$|d_model/i;

/**
 * Whether parsed JSON may be a model's config.json, or the RoPE of one. Other JSON files lie beside it: package.json,
 * tokenizer_config.json, generation_config.json.
 * @internal
 */
export function mayBeConfig(config: Dict): boolean {
  return Object.keys(config).some((key) => PARTS.test(key));
}

/** Throws INVALID_FILE for one that can't be. @internal */
export function failNoConfig(file: string): never {
  const problem = "is not a model's config.json: it has no key of one, such as model_type or hidden_size";
  fail("INVALID_FILE", file, problem, advise.other("pass the model's config.json"));
}
