// Special tokens that the JSON files of a model name.
import { type Dict, isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import { isArray } from "../../core/base/typed_arrays.js";
import type { Vocabulary } from "./vocabulary.js";

/** The id of a token in tokenizer_config.json, where it is a string or an object. */
export function namedToken(vocabulary: Vocabulary, token: unknown): number | undefined {
  const content = isDict(token) ? token["content"] : token;
  return typeof content === "string" ? vocabulary.idOf(content) : undefined;
}

/** Called with what is ignored. */
export type Warn = (message: string) => void;

/**
 * Reads a key of generation_config.json: one id, an array of ids, or none. Ids outside the vocabulary are left out, as no text has them;
 * transformers too only warns about them.
 */
export function idsIn(vocabulary: Vocabulary, config: Dict, key: string, warn?: Warn): number[] {
  const value = config[key] ?? [];
  const ids = isArray(value) ? value : [value];
  const wrong = ids.find((id) => !Number.isInteger(id));
  if (wrong !== undefined)
    fail(
      "INVALID_FILE",
      `generation_config.json ${key}`,
      `must be one or more token ids of the vocabulary (got ${show(wrong)})`,
    );
  const known = (ids as number[]).filter((id) => vocabulary.pieces[id] !== undefined);
  const others = (ids as number[]).filter((id) => !known.includes(id));
  if (others.length > 0)
    warn?.(`generation_config.json: ${key} has ${others.join(", ")}, outside the vocabulary, which is ignored`);
  return known;
}
