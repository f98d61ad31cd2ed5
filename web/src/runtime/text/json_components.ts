// Checks the sizes of the components of a tokenizer.json that decide how long encoding takes.
import { type Dict, isDict } from "../../core/base/dict.js";
import { isArray } from "../../core/base/typed_arrays.js";
import { show } from "../../core/base/show.js";
import { invalid } from "./components/options.js";

/** Characters that a component adds to a text, a word or a token. */
const LONGEST_ADDITION = 256;

const MAX_COMPONENTS = 200;

/** @throws INVALID_FILE (the part of tokenizer.json) */
export function checkComponents(json: Dict): void {
  checkModel(isDict(json["model"]) ? json["model"] : {});
  for (const part of ["normalizer", "pre_tokenizer", "post_processor", "decoder"]) checkPart(json[part], part);
}

function checkText(text: unknown, most: number, part: string): void {
  if (typeof text === "string" && text.length > most)
    invalid(part, `texts must have at most ${most} characters (got ${show(text)} with ${text.length})`);
}

function checkModel(model: Dict): void {
  for (const key of ["continuing_subword_prefix", "end_of_word_suffix", "unk_token"])
    checkText(model[key], LONGEST_ADDITION, `model.${key}`);
}

/** Checks a component and those inside it. */
function checkPart(component: unknown, part: string): void {
  const open: unknown[] = [component];
  for (let checked = 0; open.length > 0; checked++) {
    if (checked === MAX_COMPONENTS) invalid(part, `must have at most ${MAX_COMPONENTS} components`);
    const next = open.pop();
    if (!isDict(next)) continue;
    for (const key of ["content", "prepend", "replacement", "str_rep"]) checkText(next[key], LONGEST_ADDITION, part);
    for (const key of ["normalizers", "pretokenizers", "processors", "decoders"]) {
      const inside = next[key];
      if (isArray(inside)) for (const item of inside) open.push(item);
    }
  }
}
