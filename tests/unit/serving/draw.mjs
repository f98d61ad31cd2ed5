// Draws tools, calls and texts from a seed.
import { Written } from "./call_writers.mjs";

const NAMES = ["get", "get_weather", "get_weather_2", "now", "a.b-c", "say"];
const KEYS = ["city", "days", "x", "my-key", "a.b", "naïve", "名前", "id", "name", "arguments", "with space"];

const FRAGMENTS = [
  "Bergen",
  "a < b & c > d",
  "it's",
  'say "hi"',
  "\\",
  "\\n",
  "C:\\new\\table",
  "\n",
  "\n\n",
  "\t",
  "  ",
  " ",
  "😀",
  "🐀",
  "👩‍👩‍👧",
  "é",
  "\u2028",
  "\u2029",
  "\u00a0",
  "\u0007",
  "}",
  "{",
  '"}',
  "]}",
  "[1, 2]",
  '{"name": "get", "arguments": {}}',
  "</tool_call>",
  "<tool_call>",
  "</function>",
  "<function=get>",
  "</parameter>",
  "<parameter=days>",
  "</param>",
  "]]>",
  "</arg_value>",
  "[TOOL_CALLS]",
  "[ARGS]",
  "<think>",
  "</think>",
  "<|channel|>",
  "<|call|>",
  "<｜tool▁call▁end｜>",
  "<tool_call|>",
  "<|tool_call_end|>",
  "<|im_end|>",
  "```",
  "True",
  "None",
  "null",
  "12345678901234567890",
  "1.50",
  "0x10",
  "'''",
  ", days=3)",
  "#",
  "$&",
];
const NUMBERS = [
  "0",
  "-1",
  "7",
  "12345678901234567890",
  "-98765432109876543210987654321",
  "1.50",
  "0.1",
  "-2.5e-7",
  "1e5",
  "3.0",
  "123456789.123456789012",
];
const WORDS = [
  "Let",
  "me",
  "look",
  "at",
  "it.",
  "So",
  "a",
  "<",
  "b",
  "and",
  "1.",
  "(see)",
  "—",
  "😀",
  "\n",
  "\n\n",
  "   ",
  "{",
  "`x`",
  "[0]",
  "it's",
];

/** A generator of 32-bit numbers (mulberry32), seeded by a text. */
function generator(seed) {
  let state = 2166136261;
  for (const character of seed) state = Math.imul(state ^ character.codePointAt(0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export class Draw {
  #next;

  constructor(seed) {
    this.#next = generator(seed);
  }

  chance(probability) {
    return this.#next() < probability;
  }

  below(count) {
    return Math.floor(this.#next() * count);
  }

  one(list) {
    return list[this.below(list.length)];
  }

  some(list, most) {
    return Array.from({ length: this.below(most + 1) }, () => this.one(list));
  }

  /** Pieces of 1 to some characters, also half of a pair. */
  pieces(text) {
    const pieces = [];
    const most = this.one([1, 3, 12, 1000]);
    for (let at = 0; at < text.length;) {
      const length = 1 + this.below(most);
      pieces.push(text.slice(at, at + length));
      at += length;
    }
    return pieces;
  }

  tools() {
    const names = NAMES.filter(() => this.chance(0.6));
    return (names.length > 0 ? names : ["get"]).map((name) => ({
      type: "function",
      function: {
        name,
        parameters: {
          type: "object",
          properties: this.#properties(),
          ...(this.chance(0.3) && { $defs: { count: { type: "integer" } } }),
        },
      },
    }));
  }

  #properties() {
    const keys = KEYS.filter(() => this.chance(0.35));
    return Object.fromEntries(keys.map((key) => [key, this.#schema()]));
  }

  #schema() {
    const type = this.one(["string", "string", "string", "integer", "number", "boolean", "array", "object", "null"]);
    const forms = [
      { type },
      { type, description: "of it" },
      { anyOf: [{ type }] },
      { type: [type] },
      { allOf: [{ type }] },
      { oneOf: [{ allOf: [{}, { type }] }] },
    ];
    return this.one(forms);
  }

  calls(tools, { most = 3, isTagged = false, refuses = [], refusesInside = [] }) {
    const count = this.below(most + 1);
    const allows = (text, isInside = false) =>
      ![...refuses, ...(isInside ? refusesInside : [])].some((pattern) => pattern.test(text));
    return Array.from({ length: count }, () => {
      const { name, parameters } = this.one(tools).function;
      const given = {};
      for (const [key, schema] of Object.entries(parameters.properties))
        if (this.chance(0.8)) given[key] = this.#value(typeOf(schema), allows, 3);
      if (!isTagged && this.chance(0.2)) given.more = this.#value(this.one(["string", "number", "object"]), allows, 2);
      return { name, given };
    });
  }

  #value(type, allows, depth) {
    if (type === "string") return this.#text((text) => allows(text, depth < 3));
    if (type === "integer") return new Written(this.one(NUMBERS.filter((number) => /^-?\d+$/.test(number))));
    if (type === "number") return new Written(this.one(NUMBERS));
    if (type === "boolean") return this.chance(0.5);
    if (type === "null") return null;
    const inner = () =>
      this.#value(
        this.one(depth > 0 ? ["string", "number", "boolean", "null", "array", "object"] : ["string", "number"]),
        allows,
        depth - 1,
      );
    if (type === "array") return Array.from({ length: this.below(4) }, inner);
    return Object.fromEntries(this.some(["a", "b c", "é", 'x"y', "1"], 3).map((key) => [key, inner()]));
  }

  #text(allows) {
    for (;;) {
      const text = this.some(FRAGMENTS, this.one([1, 3, 8])).join(this.one(["", " "]));
      if (allows(text)) return text;
    }
  }

  /** Text of an answer: it doesn't end with space, and may begin with an indentation. */
  prose(markers, refused) {
    for (;;) {
      const words = this.some([...WORDS, ...WORDS, ...markers], 12);
      const text = (this.one(["", "", "    ", "\t"]) + words.join(" ")).trimEnd();
      if (text !== "" && !/^\s*\n/.test(text) && !/^\s*[{<[]/.test(text) && !refused.test(text)) return text;
    }
  }

  jsonStyle() {
    return this.one([{}, { escapes: true }, { comma: ",", colon: ":" }, { comma: ",\n  ", colon: ": " }]);
  }
}

/** The type that a drawn schema allows. */
function typeOf({ type, anyOf, allOf, oneOf }) {
  if (type !== undefined) return [type].flat()[0];
  const parts = anyOf ?? allOf ?? oneOf;
  return typeOf(parts.find(({ type, allOf }) => type ?? allOf));
}
