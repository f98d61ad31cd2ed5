// The post-processor of a tokenizer.json: which special tokens go around texts.
import { isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import { isArray } from "../../../core/base/typed_arrays.js";
import { invalid, Options, unsupported } from "./options.js";
import type { TemplatePart, Templates } from "./templates.js";

const PART = "post_processor";

/** Whether the vocabulary has an id. */
type HasId = (id: unknown) => id is number;

const text = (index: 0 | 1, type: number): TemplatePart => ({ text: index, type });

/** Texts alone, the second with type 1. */
const PLAIN: Templates = { single: [text(0, 0)], pair: [text(0, 0), text(1, 1)] };

/** Reads a post-processor. @throws INVALID_FILE, UNSUPPORTED_MODEL (tokenizer.json post_processor) */
export function readPostProcessor(json: unknown, hasId: HasId): Templates {
  const found = stepsOf(json).filter((step) => step !== undefined);
  if (found.length > 1) unsupported(PART, "must have only one component that adds tokens");
  return found[0] ?? PLAIN;

  function stepsOf(value: unknown): (Templates | undefined)[] {
    if (value === undefined || value === null) return [];
    const options = Options.of(value, PART);
    if (options.type === "Sequence") return options.list("processors").flatMap(stepsOf);
    const templates = templatesOf(options, hasId);
    options.end();
    return [templates];
  }
}

function templatesOf(options: Options, hasId: HasId): Templates | undefined {
  switch (options.type) {
    case "TemplateProcessing":
      return templateProcessing(options, hasId);
    case "BertProcessing":
    case "RobertaProcessing":
      return options.type === "BertProcessing" ? bert(options, hasId) : roberta(options, hasId);
    case "ByteLevel": // changes offsets only
      for (const key of ["add_prefix_space", "trim_offsets"]) options.boolean(key);
      options.boolean("use_regex", true);
      return undefined;
    default:
      return unsupported(PART, `has the unknown type ${options.type}`);
  }
}

function bert(options: Options, hasId: HasId): Templates {
  const [cls, sep] = [namedId(options, "cls", hasId), namedId(options, "sep", hasId)];
  const single = [{ ids: [cls], type: 0 }, text(0, 0), { ids: [sep], type: 0 }];
  return { single, pair: [...single, text(1, 1), { ids: [sep], type: 1 }] };
}

/** RoBERTa has two separators between texts, and no types. */
function roberta(options: Options, hasId: HasId): Templates {
  const [cls, sep] = [namedId(options, "cls", hasId), namedId(options, "sep", hasId)];
  for (const key of ["trim_offsets", "add_prefix_space"]) options.boolean(key); // change offsets only
  const single = [{ ids: [cls], type: 0 }, text(0, 0), { ids: [sep], type: 0 }];
  return { single, pair: [...single, { ids: [sep], type: 0 }, text(1, 0), { ids: [sep], type: 0 }] };
}

/** A token as [text, id]. */
function namedId(options: Options, key: string, hasId: HasId): number {
  const value = options.value(key);
  const id: unknown = isArray(value) ? value[1] : undefined;
  return hasId(id) ? id : options.wrong(key, "a token and its id", value);
}

function templateProcessing(options: Options, hasId: HasId): Templates {
  const special = options.value("special_tokens");
  const idsOf = (name: unknown): readonly number[] => {
    const token =
      isDict(special) && typeof name === "string" && Object.hasOwn(special, name) ? special[name] : undefined;
    const ids: unknown = isDict(token) ? token["ids"] : undefined;
    return isArray(ids) && ids.every(hasId)
      ? ids
      : invalid(PART, `special_tokens must have the ids of ${show(name)} in the vocabulary`);
  };
  const read = (key: "single" | "pair"): TemplatePart[] =>
    options.list(key).map((part) => templatePart(options, key, part, idsOf));
  const single = read("single");
  const texts = single.flatMap((part) => ("text" in part ? [part.text] : []));
  if (!texts.includes(0) || texts.includes(1))
    options.wrong("single", "a template that has the text A, and not B", options.list("single"));
  return { single, pair: read("pair") };
}

function templatePart(
  options: Options,
  key: string,
  part: unknown,
  idsOf: (name: unknown) => readonly number[],
): TemplatePart {
  const { SpecialToken: token, Sequence: sequence } = isDict(part) ? part : {};
  const value = token ?? sequence;
  const { id, type_id: type } = isDict(value) ? value : {};
  const isText = token === undefined && (id === "A" || id === "B");
  if (!Number.isInteger(type) || (type as number) < 0 || (type as number) > 0xffff || (token === undefined && !isText))
    return options.wrong(key, "a list of SpecialToken and Sequence, with type_id", part);
  return isText ? text(id === "A" ? 0 : 1, type as number) : { ids: idsOf(id), type: type as number };
}
