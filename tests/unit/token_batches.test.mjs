// Which texts a batch has: all that generate at the same time, without waiting for those that are late.
import assert from "node:assert/strict";
import test from "node:test";
import { TokenBatches } from "../../build/package/runtime/model/run/token_batches.js";

/** A reader that notes the tokens of each batch. Token 13 can't be read. */
class Reader {
  batches = [];
  hasMemory = true;

  checkIdle() {}
  forwardTexts(texts) {
    const tokens = texts.flatMap((text) => text.tokens);
    if (tokens.includes(13)) throw new Error("can't be read");
    this.batches.push(tokens);
  }
  writeLastLogits() {
    if (!this.hasMemory) throw new Error("out of memory");
  }
}

class Text {
  tokens = [];
  rows = [];
  isAlive = true;
  logitsAddress = 0;

  freshMemory() {
    return {};
  }

  checkAlive() {
    if (!this.isAlive) throw new Error("disposed");
  }
  accept(token, row) {
    this.tokens.push(token);
    this.rows.push(row);
  }
}

function setUp(count) {
  const reader = new Reader();
  return { reader, batches: new TokenBatches(reader), texts: Array.from({ length: count }, () => new Text()) };
}

test("a text that is alone is read at once", () => {
  const { reader, batches, texts } = setUp(1);
  for (const token of [1, 2, 3]) void batches.read(texts[0], token);
  assert.deepEqual(reader.batches, [[1], [2], [3]]);
});

test("texts that go on together share each batch", async () => {
  const { reader, batches, texts } = setUp(3);
  const run = async (text, first) => {
    for (let i = 0; i < 4; i++) await batches.read(text, first + i);
  };
  await Promise.all(texts.map((text, i) => run(text, 10 * (i + 2))));
  assert.deepEqual(reader.batches.slice(1), [
    [30, 40, 21],
    [31, 41, 22],
    [32, 42, 23],
    [33, 43],
  ]);
  for (const [i, { tokens }] of texts.entries())
    assert.deepEqual(
      tokens,
      [0, 1, 2, 3].map((n) => 10 * (i + 2) + n),
    );
});

test("a text that is late is left out, and one that leaves isn't waited for", async () => {
  const { reader, batches, texts } = setUp(3);
  const [a, b, c] = texts;
  void batches.read(a, 1);
  const both = [batches.read(b, 2), batches.read(c, 3)];
  await Promise.all(both);
  assert.deepEqual(reader.batches, [[1], [2, 3]]); // a never came back
  void batches.read(b, 4);
  assert.equal(reader.batches.length, 2); // waits for c
  batches.leave(c);
  assert.deepEqual(reader.batches[2], [4]);
  batches.leave(a); // which isn't expected any more
  void batches.read(b, 5);
  assert.deepEqual(reader.batches[3], [5]);
});

test("a text that can't be read fails alone", async () => {
  const { reader, batches, texts } = setUp(3);
  const [a, b, c] = texts;
  void batches.read(a, 1);
  const results = await Promise.allSettled([batches.read(b, 2), batches.read(c, 13), batches.read(a, 3)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.deepEqual(reader.batches, [[1], [2], [3]]);
  assert.deepEqual([a.tokens, b.tokens, c.tokens], [[1, 3], [2], []]);
});

test("a text that is disposed of while it waits fails alone", async () => {
  const { reader, batches, texts } = setUp(2);
  const [a, b] = texts;
  void batches.read(a, 1);
  const waiting = batches.read(b, 2);
  b.isAlive = false;
  const results = await Promise.allSettled([waiting, batches.read(a, 3)]);
  assert.match(results[0].reason.message, /disposed/);
  assert.deepEqual(reader.batches, [[1], [3]]);
});

test("without memory for logits, the tokens are part of the texts, and the calls fail", async () => {
  const { reader, batches, texts } = setUp(1);
  reader.hasMemory = false;
  await assert.rejects(batches.read(texts[0], 5), /out of memory/);
  assert.deepEqual([texts[0].tokens, texts[0].rows], [[5], [undefined]]);
});

test("more texts than a batch has", async () => {
  const { reader, batches, texts } = setUp(70);
  await Promise.all(texts.map((text, i) => batches.read(text, 100 + i)));
  assert.deepEqual(
    reader.batches.map(({ length }) => length),
    [1, 32, 32, 5],
  );
});
