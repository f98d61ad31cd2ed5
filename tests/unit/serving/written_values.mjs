// Values of calls as templates write them, without the code that reads them.
//
// A text is a list of strings and of markers ({ control: text }), which are control tokens in the vocabularies of these models.

/** A number as it is written. */
export class Written {
  constructor(text) {
    this.text = text;
  }
}

export const control = (text) => ({ control: text });

/** JSON with the numbers as they are written, with spaces as json.dumps has them. `escapes`: as Jinja's tojson. */
export function json(value, { comma = ", ", colon = ": ", escapes = false } = {}) {
  const options = { comma, colon, escapes };
  if (value instanceof Written) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => json(item, options)).join(comma)}]`;
  if (typeof value === "object" && value !== null)
    return `{${Object.entries(value)
      .map(([key, item]) => json(key, options) + colon + json(item, options))
      .join(comma)}}`;
  const text = JSON.stringify(value);
  if (!escapes || typeof value !== "string") return text;
  return text.replace(/[<>&'\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** As Python's repr() writes a value. */
export function repr(value) {
  if (value instanceof Written) return value.text;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([key, item]) => `${repr(key)}: ${repr(item)}`)
      .join(", ")}}`;
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  const escaped = value.replace(/[\\\p{Cc}\u2028\u2029]/gu, (one) => {
    const known = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" }[one];
    const code = one.charCodeAt(0);
    return known ?? (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`);
  });
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** As Jinja prints a value that is no text. */
export const printed = (value) => (typeof value === "string" ? value : repr(value));
/** Texts as they are, other values as JSON. */
export const rawOrJson = (value) => (typeof value === "string" ? value : json(value));

export const jsonCall = ({ name, given }, key = "arguments", options = {}) =>
  `{"name": "${name}", "${key}": ${json(given, options)}}`;
export const entries = (given, write, between = "") => Object.entries(given).map(write).join(between);

/** Gemma's objects, without quotes around the outermost keys, and in the order of the keys. */
export function gemma(value, quote, isInner = true) {
  if (typeof value === "string") return [control(quote), value, control(quote)];
  if (typeof value === "boolean" || value === null || value instanceof Written)
    return [value === null ? "None" : json(value)];
  const isList = Array.isArray(value);
  const members = isList
    ? value.map((item) => gemma(item, quote))
    : Object.keys(value)
        .sort()
        .map((key) => [...(isInner ? [control(quote), key, control(quote)] : [key]), ":", ...gemma(value[key], quote)]);
  return [
    isList ? "[" : "{",
    ...members.flatMap((member, i) => (i === 0 ? member : [",", ...member])),
    isList ? "]" : "}",
  ];
}

export const think = (text) => (text === "" ? [] : [`<think>\n${text}\n</think>\n\n`]);
