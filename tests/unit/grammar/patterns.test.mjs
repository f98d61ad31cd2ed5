// Regular expressions and grammars as formats: what they allow, compared with RegExp, and what they refuse.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Automaton, DEAD } from "../../../build/package/runtime/grammar/automaton.js";
import { formatGrammar } from "../../../build/package/runtime/grammar/format.js";
import { networkOf } from "../../../build/package/runtime/grammar/network.js";
import { rangesOf } from "../../../build/package/runtime/grammar/sets.js";
import { utf8Sequences } from "../../../build/package/runtime/grammar/utf8.js";
import { randomFrom, textsOf } from "./random_text.mjs";

const automatonOf = (format) => new Automaton(networkOf(formatGrammar(format), "format"));

function accepts(automaton, text) {
  let state = automaton.start();
  for (const byte of Buffer.from(text)) {
    state = automaton.step(state, byte);
    if (state === DEAD) return false;
  }
  return automaton.canEnd(state);
}

const PATTERNS = [
  "abc",
  "a|bc|",
  "(a|b)*c",
  "[a-f]{2,5}",
  "[^a-c]x?",
  "\\d{4}-\\d{2}",
  "\\w+@\\w+\\.(com|org)",
  "[à-ü日-本]+",
  "\\p{Lu}\\p{Ll}*",
  "[^\\p{L}]",
  ".{0,3}",
  "(?:ab?){1,3}?",
  "(?<year>\\d+)\\s(\\S)",
  "^abc$",
  "^(a|b)$|^c$",
  "\\u{1F600}|\\x41|\\t",
  "a{3}|b{2,}",
  "(a*)*b",
  "[\\]\\\\-]+",
  "[\\s\\d]{2}",
  "\\D\\W",
  "[^]",
  "[^\\d\\s]{1,2}",
  "[\\w-]+|[a\\-z]",
  "[\\u{61}-\\u{66}\\cA\\0\\b\\x7a]",
  "\\ud83d\\ude00[\\ud83d\\ude00-\\ud83d\\ude0f]",
  "[\\p{Lu}\\P{L}]",
  "\\S\\s",
  "[^^\\]]",
  "[-a]|[a-]",
  "(?!ab|bc).{2,3}",
  "(?=.*x)(?!.*yy)[xyz]{2,5}",
  "(^|)a(|$)",
];

for (const source of PATTERNS)
  test(`regex ${source}`, () => {
    const automaton = automatonOf({ regex: source });
    const whole = new RegExp(`^(?:${source})$`, "u");
    const random = randomFrom(5);
    const draw = textsOf(formatGrammar({ regex: source }), random);
    const others = Array.from("abcxyz01-@.é日😀 \t\n\\]AZ", (character) => character);
    for (let i = 0; i < 300; i++) {
      const text = draw();
      assert.ok(whole.test(text), JSON.stringify(text));
      assert.ok(accepts(automaton, text), JSON.stringify(text));
      const characters = Array.from(text);
      const other = others[Math.floor(random() * others.length)];
      characters.splice(Math.floor(random() * (characters.length + 1)), Math.floor(random() * 2), other);
      const changed = characters.join("");
      assert.equal(accepts(automaton, changed), whole.test(changed), JSON.stringify(changed));
    }
  });

test("a RegExp is the same as its source", () => {
  assert.ok(accepts(automatonOf({ regex: /a\/b+/u }), "a/bb"));
  assert.ok(accepts(automatonOf({ regex: /a/g }), "a"));
});

test("sets have the same characters as those of RegExp", () => {
  for (const source of [".", "\\s", "\\S", "\\w", "\\W", "\\d", "\\D", "[^\\x00-\\x7f]", "\\p{Ll}"]) {
    const expression = new RegExp(`^${source}$`, "u");
    const ranges = rangesOf(source);
    for (let point = 0; point <= 0x10ffff; point += point < 0x3000 ? 1 : 97) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const isIn = ranges.some(([first, last]) => point >= first && point <= last);
      assert.equal(isIn, expression.test(String.fromCodePoint(point)), `${point} in ${source}`);
    }
  }
});

test("a RegExp without the flag u reads no half of a character", () => {
  const basic = automatonOf({ regex: /[^a]./ });
  for (const text of ["bc", "éa"]) assert.ok(accepts(basic, text), text);
  for (const text of ["😀", "b😀", "ab"]) assert.equal(accepts(basic, text), false, text);
  assert.ok(accepts(automatonOf({ regex: /[^a]./u }), "b😀"));
});

test("choices, also with parts of characters in common", () => {
  const automaton = automatonOf({ choices: ["é", "è", "", "yes", "yesterday"] });
  for (const text of ["é", "è", "", "yes", "yesterday"]) assert.ok(accepts(automaton, text), text);
  for (const text of ["ê", "ye", "yesterda", "e"]) assert.ok(!accepts(automaton, text), text);
});

test("ranges of characters as bytes", () => {
  const random = randomFrom(9);
  const edges = [
    0, 0x7f, 0x80, 0x7ff, 0x800, 0xfff, 0x1000, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x3ffff, 0x40000, 0x10ffff,
  ];
  const point = () => (random() < 0.4 ? edges[Math.floor(random() * edges.length)] : Math.floor(random() * 0x110000));
  for (let i = 0; i < 300; i++) {
    const [first, last] = [point(), point()].sort((a, b) => a - b);
    const parts = first < 0xd800 && last > 0xdfff ? [[first, 0xd7ff], [0xe000, last]] : [[first, last]]; // prettier-ignore
    if (parts.flat().some((end) => end >= 0xd800 && end <= 0xdfff)) continue;
    const sequences = parts.flatMap(utf8Sequences);
    for (let j = 0; j < 50; j++) {
      const tested = j < 4 ? [first, last, first - 1, last + 1][j] : point();
      if (tested < 0 || tested > 0x10ffff || (tested >= 0xd800 && tested <= 0xdfff)) continue;
      const bytes = Buffer.from(String.fromCodePoint(tested));
      const found = sequences.filter(
        (sequence) =>
          sequence.length === bytes.length && sequence.every(([from, to], at) => bytes[at] >= from && bytes[at] <= to),
      );
      assert.equal(found.length, tested >= first && tested <= last ? 1 : 0, `${tested} in ${first} to ${last}`);
    }
  }
});

const REFUSED = [
  [{ regex: "a(?=b)" }, "format.regex", /lookahead/],
  [{ regex: "(a)\\1" }, "format.regex", /back reference/],
  [{ regex: "a\\b" }, "format.regex", /\\b/],
  [{ regex: "a^b" }, "format.regex", /start and end/],
  [{ regex: "(" }, "format.regex", /can't be generated/],
  [{ regex: /a/i }, "format.regex", /flags i/],
  [{ regex: new RegExp("[\\w&&\\d]{2}", "v") }, "format.regex", /flag v/],
  [{ regex: /^\u{61}$/ }, "format.regex", /needs the flag u/],
  [{ regex: /\p{Lu}x/ }, "format.regex", /needs the flag u/],
  [{ regex: /😀+/ }, "format.regex", /needs the flag u/],
  [{ regex: /\ud83d\ude00/ }, "format.regex", /needs the flag u/],
  [{ regex: 5 }, "format.regex", /regular expression/],
  [{ regex: "[]" }, "format.regex", /no text/],
  [{ regex: "a{3000000}" }, "format", /too large/],
  [{ choices: [] }, "format.choices", /one or more texts/],
  [{ choices: ["a", 1] }, "format.choices", /one or more texts/],
  [{ choices: "a" }, "format.choices", /list of texts/],
  [{ grammar: "root ::= missing" }, "format.grammar", /line 1, column 10: there is no rule missing/],
  [{ grammar: "start ::= 'a'" }, "format.grammar", /line 1, column 11/],
  [{ grammar: 'a ::= "a"' }, "format.grammar", /no rule root/],
  [{ grammar: 'root ::= "a"\nroot ::= "b"' }, "format.grammar", /line 2, column 1: the rule root is there twice/],
  [{ grammar: 'root ::= "a' }, "format.grammar", /closing quote/],
  [{ grammar: 'root ::= ("a"' }, "format.grammar", /expected \)/],
  [{ grammar: 'root ::= "a"{3,1}' }, "format.grammar", /repeat must not end/],
  [{ grammar: "root ::= [b-a]" }, "format.grammar", /range must not end/],
  [{ grammar: 'root ::= "\\q"' }, "format.grammar", /unknown escape/],
  [{ grammar: "root ::= <[5]>" }, "format.grammar", /tokens such as/],
  [{ grammar: 'root = "a"' }, "format.grammar", /expected ::=/],
  [{ grammar: 'root ::= root "a" | "b"' }, "format", /rule root starts with itself/],
  [{ grammar: 'root ::= a "x"\na ::= ("" | "z") root | "y"' }, "format", /starts with itself/],
  [{ grammar: "root ::= a\na ::= [x] a" }, "format.grammar", /no text of finite length/],
  [{ grammar: 5 }, "format.grammar", /must be a text/],
  [{}, "format", /one of schema, regex, choices, grammar/],
  [{ regex: "a", choices: ["a"] }, "format", /one of/],
  ["yaml", "format", /must be "json"/],
  [null, "format", /must be "json"/],
];

for (const [format, field, message] of REFUSED)
  test(`refused: ${JSON.stringify(format)}`, () => {
    assert.throws(
      () => automatonOf(format),
      (error) => {
        assert.equal(error.code, "INVALID_ARGUMENT", error.stack);
        assert.equal(error.field, field);
        assert.match(error.message, message);
        return true;
      },
    );
  });
