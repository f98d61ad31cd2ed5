// Special tokens that the JSON files of a model name.
import { type Dict, isDict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import { isArray } from "../base/typed_arrays.js";
import type { Vocabulary } from "./vocabulary.js";

/** The id of a token in tokenizer_config.json, where it is a string or an object. */
export function namedToken(vocabulary: Vocabulary, token: unknown): number | undefined {
  const content = isDict(token) ? token["content"] : token;
  return typeof content === "string" ? vocabulary.idOf(content) : undefined;
}

/** Reads a key of generation_config.json: one id, an array of ids, or none. */
export function idsIn(vocabulary: Vocabulary, config: Dict, key: string): number[] {
  const value = config[key] ?? [];
  const ids = isArray(value) ? value : [value];
  const wrong = ids.find((id) => !Number.isInteger(id) || vocabulary.pieces[id as number] === undefined);
  if (wrong === undefined) return ids as number[];
  fail(
    "INVALID_FILE",
    `generation_config.json ${key}`,
    `must be one or more token ids of the vocabulary (got ${show(wrong)})`,
  );
}
