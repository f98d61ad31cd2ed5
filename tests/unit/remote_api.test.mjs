// The tables of the remote API have each member of the local classes, and the declarations that follow from them are sound.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Adapter } from "../../build/package/runtime/model/run/adapter.js";
import { Model } from "../../build/package/runtime/model/model.js";
import { missingTokenizer } from "../../build/package/runtime/model/missing_tokenizer.js";
import { Ropewalk } from "../../build/package/runtime/ropewalk/ropewalk.js";
import { Session } from "../../build/package/runtime/model/session/session.js";
import { VocabularyTokenizer } from "../../build/package/runtime/text/vocabulary_tokenizer.js";
import { TABLES } from "../../build/package/runtime/worker/remote_api.js";
import { RemoteObject } from "../../build/package/runtime/worker/remote_object.js";

const CLASSES = {
  adapter: Adapter,
  model: Model,
  ropewalk: Ropewalk,
  session: Session,
  tokenizer: VocabularyTokenizer,
};

/** Members that only the tokenizer of a vocabulary has. */
const OF_VOCABULARY = ["controlTokens", "encodeChat", "encodeSteps", "encodeChatSteps"];
/** What constructors of the classes set. */
const FIELDS = {
  adapter: ["info", "fingerprint"],
  model: ["info", "tokenizer", "chatTemplate", "chatTemplates", "onWarning"],
  ropewalk: [],
  session: [],
  tokenizer: ["vocabularySize", "beginToken", "endTokens", "addsBegin"],
};
/** The module in this thread has nothing to end. */
const ONLY_REMOTE = { ropewalk: ["dispose"] };

for (const [kind, local] of Object.entries(CLASSES)) {
  const methods = Object.getOwnPropertyNames(local.prototype).filter((name) => name !== "constructor");
  const members = [...FIELDS[kind], ...methods].filter((name) => !OF_VOCABULARY.includes(name));

  describe(local.name, () => {
    test("has one row for each member", () => {
      const rows = Object.keys(TABLES[kind]).filter((name) => !(ONLY_REMOTE[kind] ?? []).includes(name));
      assert.deepEqual(rows.sort(), members.sort());
    });

    test("what a Worker doesn't offer has a reason, and its class doesn't have it", () => {
      const remote = RemoteObject.classOf(kind);
      for (const [name, row] of Object.entries(TABLES[kind])) {
        assert.equal(name in remote.prototype && name !== "onWarning", row.kind !== "here", name);
        if (row.kind === "here") assert.match(row.why, /^\w.{20,}[^.]$/, name);
      }
    });

    test("methods are rows with arguments, and properties are none", () => {
      for (const [name, row] of Object.entries(TABLES[kind])) {
        if (row.kind === "here" || (ONLY_REMOTE[kind] ?? []).includes(name)) continue;
        const { value } = Object.getOwnPropertyDescriptor(local.prototype, name) ?? {};
        assert.equal("args" in row, typeof value === "function", name);
        if (value === undefined) continue;
        // parameters with defaults don't count in `length`
        const count = row.args.length + (row.options === undefined ? 0 : 1);
        assert.ok(value.length <= count, `${name} takes ${value.length} arguments`);
        assert.equal(/\blooped\(/.test(String(value)), row.kind === "stream", name); // pieces, which say so
      }
    });
  });
}

test("a missing tokenizer has all members", () => {
  const missing = missingTokenizer({ kind: "gguf", name: "a" }, 10);
  assert.deepEqual(Object.keys(missing).sort(), Object.keys(TABLES.tokenizer).sort());
});

// web/public_api.txt is compared with dist/ by another test; it has the remote types with their members written out.
describe("the declarations", () => {
  const api = readFileSync(new URL("../../web/public_api.txt", import.meta.url), "utf8");
  const membersOf = (name) => {
    const [, body] = new RegExp(`interface ${name} \\{\n([\\s\\S]*?)\n\\}`).exec(api);
    return new Map([...body.matchAll(/^ {4}(?:readonly )?(\w+)(.*);$/gm)].map(([, member, type]) => [member, type]));
  };
  const internal = ["onWarning", "readPrompt", "renderPrompt", "writtenTokens", "embedCounted", "bringTo"];

  for (const [kind, local] of Object.entries(CLASSES)) {
    const name = `Worker${kind[0].toUpperCase()}${kind.slice(1)}`;
    test(name, () => {
      const members = membersOf(name);
      for (const [member, row] of Object.entries(TABLES[kind])) {
        const type = members.get(member);
        if (row.kind === "here" || internal.includes(member)) {
          assert.equal(type, undefined, `${local.name}.${member}`);
          continue;
        }
        assert.ok(type !== undefined, `${local.name}.${member}`);
        const isAsked = row.kind !== "fact" && row.kind !== "state";
        const result = type.slice(/^[(<]/.test(type) ? type.lastIndexOf("): ") + 3 : 2);
        if (isAsked) assert.match(result, row.kind === "stream" ? /^AsyncGenerator</ : /^Promise</, member);
        if (row.returns !== undefined) assert.match(result, /^(Promise<)?Worker\w+>?$/, member);
        assert.doesNotMatch(type, /\bany\b|\bunknown\b/, member);
      }
    });
  }
});
