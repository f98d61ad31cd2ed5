// A call that is aborted at the moment at which its turn comes, and a generation whose session is disposed of while a call reads.
import assert from "node:assert/strict";
import test from "node:test";
import { CallQueue } from "../../build/package/runtime/model/session/call_queue.js";

async function* onePiece() {
  yield { finish: "length" };
}

async function microtasks(count) {
  for (let i = 0; i < count; i++) await undefined;
}

const KINDS = {
  generate: (queue, signal) => queue.generate(signal, onePiece).next(),
  append: (queue, signal) => queue.run("append", "change", signal, () => Promise.resolve()),
};

for (const [kind, call] of Object.entries(KINDS))
  test(`${kind}: the calls after it run, whenever its signal is aborted`, async () => {
    const outcomes = new Set();
    for (let delay = 0; delay < 16; delay++) {
      const queue = new CallQueue(() => undefined);
      const controller = new AbortController();
      let end;
      const ended = new Promise((resolve) => (end = resolve));
      const before = queue.run("append", "change", undefined, () => ended);
      const aborted = call(queue, controller.signal).then(
        () => "ran",
        () => "aborted",
      );
      end();
      await microtasks(delay);
      controller.abort();
      await before;
      outcomes.add(await aborted);
      const after = queue.run("append", "change", undefined, () => Promise.resolve("after"));
      const late = new Promise((resolve) => setTimeout(resolve, 200, `hangs after ${delay} microtasks`));
      assert.equal(await Promise.race([after, late]), "after");
    }
    assert.deepEqual([...outcomes].sort(), ["aborted", "ran"]);
  });

test("a generation that waits for a call that reads ends when the session is disposed of", async () => {
  let isDisposed = false;
  const queue = new CallQueue(() => {
    if (isDisposed) throw new Error("disposed");
  });
  const pieces = queue.generate(undefined, async function* () {
    yield {};
    yield { finish: "length" };
  });
  await pieces.next();
  let end;
  const reading = queue.run("save", "read", undefined, () => new Promise((resolve) => (end = resolve)));
  const next = pieces.next();
  await microtasks(8);
  isDisposed = true;
  queue.close();
  const late = new Promise((resolve) => setTimeout(resolve, 200, "hangs"));
  await assert.rejects(Promise.race([next, late]), /disposed/);
  end();
  await assert.rejects(reading, /disposed/);
});
