// A server whose model's Worker ends loads the model again: nobody waits for ever, everyone is told, and the next answers are the same.
import assert from "node:assert/strict";
import { once } from "node:events";
import test from "node:test";
import { post, serving } from "../server.mjs";

/** In the server: SIGUSR2 ends the Worker, as a crash does. */
const ENDING = `
  const threads = process.getBuiltinModule("node:worker_threads");
  const { Worker } = threads;
  let last;
  threads.Worker = class extends Worker { constructor(...given) { super(...given); last = this; } };
  process.on("SIGUSR2", () => last.terminate());`;
const env = { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(ENDING)}"` };

const messages = [{ role: "user", content: "the rope" }];
const SHORT = { messages, max_tokens: 8, temperature: 0 };
const LONG = { messages, max_tokens: 3900, logit_bias: { 0: -100, 2: -100 } };

const contentOf = async (response) => {
  assert.equal(response.status, 200);
  return (await response.json()).choices[0].message.content;
};

/** Waits until the server says that it is well. Returns what it has said before. */
async function wellAgain(address) {
  const before = [];
  for (;;) {
    const response = await fetch(`${address}/health`);
    const body = await response.json();
    if (response.status === 200) return before;
    before.push([response.status, body.status]);
  }
}

const isWindows = process.platform === "win32"; // which has no SIGUSR2

test("a Worker that ends during requests, and between them", { skip: isWindows }, () =>
  serving(
    ["--context", "4096"],
    async ({ address, child, closed, printed }) => {
      const ask = () => post(address, "/v1/chat/completions", SHORT);
      const expected = await contentOf(await ask());
      const stream = await post(address, "/v1/chat/completions", { ...LONG, stream: true });
      const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader();
      await reader.read();
      const whole = post(address, "/v1/completions", { prompt: "the", ...LONG, messages: undefined });
      const embedding = post(address, "/v1/embeddings", { input: new Array(2000).fill("the rope") });
      await fetch(`${address}/health`);
      child.kill("SIGUSR2");
      let rest = "";
      for (let read = await reader.read(); !read.done; read = await reader.read()) rest += read.value;
      const { error } = JSON.parse(/data: (\{"error".*)/.exec(rest)[1]);
      assert.equal(error.code, "THREAD_LOST");
      assert.match(error.message, /^worker: the Worker has ended: its thread ended with code 1$/);
      for (const response of [await whole, await embedding]) {
        assert.equal(response.status, 503);
        assert.ok(Number(response.headers.get("retry-after")) > 0);
        assert.equal((await response.json()).error.code, "THREAD_LOST");
      }
      const models = await (await fetch(`${address}/v1/models`)).json();
      assert.equal(models.data.length, 1);
      const before = await wellAgain(address);
      assert.ok(before.every(([status, said]) => status === 503 && said === "loading model"));
      assert.equal(await contentOf(await ask()), expected);
      assert.match(printed(), /warning: the Worker has ended: its thread ended with code 1; loading the model again/);
      assert.match(printed(), /the model is loaded again/);

      child.kill("SIGUSR2"); // while nothing runs
      while (printed().split("loading the model again").length < 3) await once(child.stderr, "data");
      const refused = await ask();
      if (refused.status !== 200) {
        assert.equal(refused.status, 503);
        assert.match((await refused.json()).error.message, /the model is being loaded again/);
      }
      await wellAgain(address);
      assert.equal(await contentOf(await ask()), expected);
      child.kill("SIGTERM");
      assert.equal((await closed)[0], 0);
    },
    env,
  ),
);

test("a Worker that ends again and again ends the server, with what happened", { skip: isWindows }, () =>
  serving(
    [],
    async ({ address, child, closed, printed }) => {
      for (let i = 1; i < 3; i++) {
        child.kill("SIGUSR2");
        while (printed().split("the model is loaded again").length <= i) await once(child.stderr, "data");
        await wellAgain(address);
      }
      child.kill("SIGUSR2");
      assert.equal((await closed)[0], 1);
      assert.match(
        printed(),
        /error: worker: has ended 3 times within a minute: the Worker has ended: .* \(THREAD_LOST\)/,
      );
    },
    env,
  ),
);

test("Ctrl-C while the model is being loaded again", { skip: isWindows }, () =>
  serving(
    [],
    async ({ child, closed, printed }) => {
      child.kill("SIGUSR2");
      while (!printed().includes("loading the model again")) await once(child.stderr, "data");
      child.kill("SIGINT");
      assert.equal((await closed)[0], 0);
    },
    env,
  ),
);
