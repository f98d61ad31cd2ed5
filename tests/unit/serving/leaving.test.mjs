// Callers that leave: what they asked for ends, and takes no place.
import assert from "node:assert/strict";
import test from "node:test";
import { RequestQueue } from "../../../build/package/apps/cli/serve/queue.js";
import { createRopewalk } from "../../../build/package/ai_sdk.js";

/** A model that reads prompts until it is aborted. */
function endlessModel() {
  const reading = { isAborted: false };
  reading.begun = new Promise((resolve) => (reading.begin = resolve));
  const session = {
    tokens: [],
    dispose: () => undefined,
    bringTo: (_tokens, { signal }) =>
      new Promise((_resolve, reject) => {
        reading.begin();
        signal.addEventListener("abort", () => {
          reading.isAborted = true;
          reject(signal.reason);
        });
      }),
  };
  const model = {
    info: { name: "endless", generates: true, contextLength: 99, layers: [] },
    chatTemplates: { default: "{{ messages[0].content }}" },
    tokenizer: { decode: () => "" },
    writtenTokens: () => Promise.resolve({ ids: Int32Array.of(1, 2), least: 2, isWhole: true }),
    renderPrompt: async () => ({ text: "a b", problems: [] }),
    promptTokens: async () => Int32Array.of(1, 2),
    session: () => session,
  };
  return { model, reading };
}

const prompt = [{ role: "user", content: [{ type: "text", text: "a b" }] }];

test("cancelling a stream of the AI SDK aborts the reading of its prompt", async () => {
  const { model, reading } = endlessModel();
  const { stream } = await createRopewalk(model).languageModel().doStream({ prompt });
  const reader = stream.getReader();
  assert.equal((await reader.read()).value.type, "stream-start");
  assert.equal((await reader.read()).value.type, "response-metadata");
  await reading.begun;
  const isCancelled = await Promise.race([
    reader.cancel().then(() => true),
    new Promise((resolve) => setTimeout(resolve, 500, false)),
  ]);
  assert.ok(isCancelled, "it waits for the prompt");
  assert.ok(reading.isAborted);
});

test("an abort of a stream of the AI SDK fails it with the reason", async () => {
  const { model } = endlessModel();
  const controller = new AbortController();
  const call = { prompt, abortSignal: controller.signal };
  const { stream } = await createRopewalk(model).languageModel().doStream(call);
  const reason = new Error("enough");
  setTimeout(() => controller.abort(reason), 20);
  await assert.rejects(async () => {
    for await (const _ of stream);
  }, reason);
});

test("a request that leaves while it waits gives its place to the next one", async () => {
  const queue = new RequestQueue(1, 1);
  const open = () => new AbortController();
  const leave = await queue.enter(open().signal);
  const second = open();
  const waiting = queue.enter(second.signal);
  assert.equal(queue.enter(open().signal), undefined, "the queue is full");
  second.abort(new Error("gone"));
  await assert.rejects(waiting, /gone/);
  const third = queue.enter(open().signal);
  assert.notEqual(third, undefined, "the place is free");
  leave();
  const end = await third;
  end();
  (await queue.enter(open().signal))();
  await assert.rejects(queue.enter(AbortSignal.abort(new Error("before"))), /before/);
});
