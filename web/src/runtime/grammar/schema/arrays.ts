// The texts of JSON arrays.
import * as advise from "../../../core/base/advice.js";
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { choice, EMPTY, type Expression, isNothing, NOTHING, optional, repeat, sequence, text } from "../expression.js";
import { COMMA, SPACE } from "./space.js";
import { lengthOf } from "./strings.js";
import { listedValues } from "./values.js";
import { failTooLarge } from "../work.js";

/** The most unique elements times how many of them are counted. */
const MAX_SUBSETS = 100_000;

/** The texts of a schema. */
export type Convert = (schema: unknown, path: string) => Expression;

/** Adds a rule under a free name and returns it. */
export type AddRule = (expression: Expression) => Expression;

/** A part that is written several times, by name: else arrays inside each other would double. */
export function named(part: Expression, addRule: AddRule): Expression {
  return part.kind === "rule" || part.kind === "text" || isNothing(part) ? part : addRule(part);
}

/** @throws INVALID_ARGUMENT: `uniqueItems` of elements that aren't listed, which a grammar can't follow */
export function arrayExpression(schema: Dict, path: string, convert: Convert, addRule: AddRule): Expression {
  const prefix = (schema["prefixItems"] ?? []) as unknown[];
  const least = lengthOf(schema["minItems"], 0);
  const given = lengthOf(schema["maxItems"], Infinity);
  const most = schema["items"] === false ? Math.min(given, prefix.length) : given;
  if (schema["uniqueItems"] !== undefined && most > 1) {
    const values = prefix.length === 0 ? fewValues(schema["items"], `${path}.items`) : undefined;
    if (values === undefined)
      fail(
        "INVALID_ARGUMENT",
        `${path}.uniqueItems`,
        "needs items with enum, const or type boolean, whose order the elements keep",
        advise.other("else check the result instead"),
      );
    const texts = [...new Set(values.map((value) => JSON.stringify(value)))].map(text);
    if (texts.length * Math.min(texts.length, Math.max(least, most < texts.length ? most : 1)) > MAX_SUBSETS)
      failTooLarge(`${path}.uniqueItems`, "use fewer values or smaller limits, or check the result");
    return sequence(text("["), SPACE, new Subsets(texts, least, most, addRule).all(), SPACE, text("]"));
  }
  const first = prefix.slice(0, most).map((item, i) => convert(item, `${path}.prefixItems[${i}]`));
  const item = most > prefix.length ? named(convert(schema["items"] ?? true, `${path}.items`), addRule) : NOTHING;
  return sequence(text("["), SPACE, elements(first, item, least, most, addRule), SPACE, text("]"));
}

/** The values of a schema if they are listed, or if its type has no others. */
function fewValues(items: unknown, path: string): unknown[] | undefined {
  if (!isDict(items)) return undefined;
  const isBoolean = items["type"] === "boolean" && !("enum" in items) && !("const" in items);
  return listedValues(isBoolean ? { ...items, enum: [false, true] } : items, path);
}

/** Some of the listed elements, in their order, each once. */
class Subsets {
  readonly #rules = new Map<string, Expression>();

  constructor(
    private readonly elements: readonly Expression[],
    private readonly least: number,
    private readonly most: number,
    private readonly addRule: AddRule,
  ) {}

  all(): Expression {
    // From the last element on, so that calls don't nest as deep as there are elements.
    for (let i = this.elements.length - 1; i > 0; i--)
      for (let count = Math.min(i, this.#most()); count >= 0; count--) this.from(i, count);
    return this.from(0, 0);
  }

  /** More elements than this aren't told apart. */
  #most(): number {
    return Math.max(this.least, 1, this.most < this.elements.length ? this.most : 0);
  }

  /** The elements from the i-th on, after `count` others. Rules keep the text small, for each is used twice. */
  from(i: number, count: number): Expression {
    const element = this.elements[i];
    if (count === this.most || element === undefined) return count >= this.least ? EMPTY : NOTHING;
    const key = `${i} ${Math.min(count, this.#most())}`;
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    const taken = sequence(count === 0 ? EMPTY : COMMA, element, this.from(i + 1, count + 1));
    const all = choice(taken, this.from(i + 1, count));
    const expression = isNothing(all) ? all : this.addRule(all);
    this.#rules.set(key, expression);
    return expression;
  }
}

/** Elements with commas between them. */
function elements(
  first: readonly Expression[],
  item: Expression,
  least: number,
  most: number,
  addRule: AddRule,
): Expression {
  const [head, ...others] = first;
  if (head === undefined) {
    if (isNothing(item) || most === 0) return least === 0 ? EMPTY : NOTHING;
    const all = sequence(item, repeat(sequence(COMMA, item), Math.max(0, least - 1), most - 1));
    return least === 0 ? optional(all) : all;
  }
  // From the last element to the first: an array may end where it has enough elements.
  let rest = repeat(sequence(COMMA, item), Math.max(0, least - first.length), most - first.length);
  if (isNothing(item)) rest = least <= first.length ? EMPTY : NOTHING;
  for (let i = others.length - 1; i >= 0; i--) {
    const more = sequence(COMMA, others[i]!, rest);
    if (!isNothing(more))
      rest = addRule(i + 1 >= least ? choice(EMPTY, more) : more); // else as deep as the list is long
    else rest = i + 1 >= least ? EMPTY : NOTHING;
  }
  const all = sequence(head, rest);
  return least === 0 ? choice(EMPTY, all) : all;
}
