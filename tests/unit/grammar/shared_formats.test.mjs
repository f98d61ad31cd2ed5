// Texts that share a format: each stays right when another one makes the automaton forget its states.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FormatMatcher, Formats, KnownFormat } from "../../../build/package/runtime/grammar/formats.js";
import { formatGrammar } from "../../../build/package/runtime/grammar/format.js";
import { networkOf } from "../../../build/package/runtime/grammar/network.js";
import { tokenTrie } from "../../../build/package/runtime/grammar/token_trie.js";
import { randomFrom } from "./random_text.mjs";

const texts = ["", ...'[]{}",:0123456789abcdefghij \n', "[[", "]]", '":', '{"', "ab", "abc", "12", '"a'];
const bytes = texts.map((text) => Uint8Array.from(Buffer.from(text)));
const tokenizer = { bytes: (id) => bytes[id], endTokens: [0], vocabularySize: bytes.length };
const trie = tokenTrie(tokenizer, bytes.length);

const FORMATS = [
  { schema: { $ref: "#/$defs/list", $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } } } },
  { schema: { type: "object", additionalProperties: { type: "array", items: { type: "string", maxLength: 9 } } } },
  { grammar: 'root ::= "[" (root | pair)* "]"\npair ::= "{" pair? "}" [a-e]{1,7}' },
  { regex: "([a-j]{3}|[0-9]{5}|\\[[a-c]*\\])*" },
];

const allowedBy = (matcher) => texts.flatMap((_, id) => ((matcher.allowed[id >> 5] >> (id & 31)) & 1 ? [id] : []));

for (const format of FORMATS)
  for (const maxStates of [1, 2, 5])
    test(`texts share ${JSON.stringify(format)} with ${maxStates} states`, () => {
      const random = randomFrom(maxStates);
      const network = networkOf(formatGrammar(format), "format");
      const shared = new KnownFormat(network, maxStates);
      const matcherOf = (known) => new FormatMatcher(known, trie, tokenizer, bytes.length);
      // Each text is followed a second time by a matcher of its own, which never forgets.
      const pairs = Array.from({ length: 4 }, () => [matcherOf(shared), matcherOf(new KnownFormat(network))]);
      for (let step = 0; step < 400; step++) {
        const i = Math.floor(random() * pairs.length);
        const [matcher, alone] = pairs[i];
        const allowed = allowedBy(alone);
        assert.deepEqual(allowedBy(matcher), allowed, `step ${step}`);
        const token = allowed[Math.floor(random() * allowed.length)];
        if (token === undefined || token === 0) pairs[i] = [matcherOf(shared), matcherOf(new KnownFormat(network))];
        else for (const one of pairs[i]) one.accept(token);
      }
      assert.ok(shared.automaton.generation > 10);
    });

test("a text can be deep inside itself when the states are forgotten", () => {
  const shared = new KnownFormat(networkOf(formatGrammar(FORMATS[0]), "format"), 50);
  const matcher = new FormatMatcher(shared, trie, tokenizer, bytes.length);
  const [open, close] = ["[", "]"].map((text) => texts.indexOf(text));
  for (let i = 0; i < 5000; i++) matcher.accept(open);
  for (let i = 0; i < 5000; i++) {
    assert.ok(!allowedBy(matcher).includes(0));
    matcher.accept(close);
  }
  assert.deepEqual(allowedBy(matcher), [0]);
});

test("a format that can match in too many ways is refused, also while other texts use it", () => {
  const formats = new Formats(tokenizer, bytes.length);
  for (const regex of ["(((a?){1000}){1000}){1000}", "(a?){300000}", "((a|[ab]a|[abc]aa){0,1000}){0,1000}x"])
    assert.throws(() => {
      const matcher = formats.matcher({ regex });
      for (let i = 0; i < 20; i++) matcher.accept(allowedBy(matcher)[0]);
    }, { code: "INVALID_ARGUMENT", field: "format", message: /too large/ }); // prettier-ignore
});
