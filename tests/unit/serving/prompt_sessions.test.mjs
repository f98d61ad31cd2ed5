// The sessions of served calls, with a model whose steps the test lets go on one by one.
import assert from "node:assert/strict";
import test from "node:test";
import { RopewalkError } from "../../../build/package/core/base/errors.js";
import { PromptSessions } from "../../../build/package/apps/serving/prompt_sessions.js";

const ended = { finish: {} };
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A model like one in a Worker: its sessions answer one call after the other, and each call takes a task. */
class SlowModel {
  info = { layers: [{ kind: "full_attention", rope: null }] };
  live = new Set();
  made = 0;
  /** Tokens at which reading stays until `go()` is called. */
  holds = new Set();
  #released = [];

  async session(options, tokens = []) {
    await tick();
    const session = new SlowSession(this, tokens, ++this.made);
    this.live.add(session);
    return session;
  }

  async read(token) {
    if (this.holds.has(token)) await new Promise((resolve) => this.#released.push(resolve));
  }

  go() {
    this.holds.clear();
    for (const resolve of this.#released.splice(0)) resolve();
  }
}

class SlowSession {
  #last = Promise.resolve();

  constructor(model, tokens, id) {
    Object.assign(this, { model, state: [...tokens], id });
  }

  get tokens() {
    return this.#next(() => [...this.state]);
  }

  bringTo(prompt) {
    return this.#next(async () => {
      const changed = this.state.findIndex((token, i) => token !== prompt[i]);
      if (changed >= 0) this.state.length = changed;
      const kept = this.state.length;
      for (const token of prompt.slice(kept)) {
        await this.model.read(token);
        this.#check();
        this.state.push(token);
      }
      return kept;
    });
  }

  fork() {
    return this.#next(() => this.model.session({}, this.state));
  }

  async dispose() {
    this.model.live.delete(this);
  }

  #check() {
    if (!this.model.live.has(this)) throw new RopewalkError("DISPOSED", "session", "is disposed");
  }

  #next(work) {
    const result = this.#last.then(async () => {
      await tick();
      this.#check();
      return work();
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}

const prompt = (...parts) => Int32Array.from(parts.flat());
const range = (from, count) => Array.from({ length: count }, (_, i) => from + i);

/** Reads a prompt in a call, whose result is what read() returned. */
async function answer(prompts, tokens, call = prompts.newCall(undefined)) {
  let result;
  for await (const _ of prompts.inTurn(tokens, call, async function* (read) {
    result = await read();
    yield ended;
  }));
  return result;
}

test("dispose() at any moment of a call ends it, and no session stays", async () => {
  for (let steps = 0; steps < 24; steps++) {
    const model = new SlowModel();
    const prompts = new PromptSessions(model, { parallel: 2, adapting: {} });
    const common = range(0, 40);
    if (steps % 2 === 1) await answer(prompts, prompt(common, 90)); // then the call copies it
    const one = answer(prompts, prompt(common, 91, 92)).then(
      () => "ended",
      (error) => `${error.code} ${error.field}`,
    );
    for (let i = 0; i < steps; i++) await tick();
    prompts.dispose();
    const result = await one;
    await tick();
    if (steps === 0) assert.equal(result, "DISPOSED dispose");
    else assert.ok(["ended", "DISPOSED dispose"].includes(result), `${steps}: ${result}`);
    assert.equal(model.live.size, 0, `after ${steps} steps: ${result}`);
  }
});

test("a call that was made before dispose() doesn't begin after it", async () => {
  const model = new SlowModel();
  const prompts = new PromptSessions(model, { parallel: 1, adapting: {} });
  const call = prompts.newCall(undefined);
  prompts.dispose();
  await assert.rejects(answer(prompts, prompt(1, 2), call), { code: "DISPOSED", field: "dispose" });
  assert.equal(model.live.size, 0);
  assert.equal((await answer(prompts, prompt(1, 2))).cached, 0);
});

test("a call doesn't wait until another one has read its prompt", async () => {
  const model = new SlowModel();
  const prompts = new PromptSessions(model, { parallel: 2, adapting: {} });
  model.holds.add(7);
  const slow = answer(prompts, prompt(5, 6, 7, 8));
  for (let i = 0; i < 20; i++) await tick();
  const outcome = await Promise.race([
    answer(prompts, prompt(1, 2)),
    new Promise((end) => setTimeout(end, 500, "waits")),
  ]);
  model.go();
  await slow;
  assert.notEqual(outcome, "waits");
});

test("a session whose memory is needed for another call is no error of a call that looks at it", async () => {
  const model = new SlowModel();
  const prompts = new PromptSessions(model, { parallel: 3, adapting: {} });
  await answer(prompts, prompt(range(0, 40), 90));
  const [first] = model.live;
  const call = answer(prompts, prompt(range(0, 40), 91));
  await first.dispose(); // as for a call without memory
  await call;
});

test("a common beginning is copied only if the copy is exact", async () => {
  for (const [layer, cached] of [
    [{ kind: "full_attention", rope: null }, 40],
    [{ kind: "full_attention", rope: { rope_scaling: { rope_type: "dynamic" } } }, 0],
    [{ kind: "linear_attention", rope: null }, 0],
  ]) {
    const model = new SlowModel();
    model.info = { layers: [layer] };
    const prompts = new PromptSessions(model, { parallel: 2, adapting: {} });
    await answer(prompts, prompt(range(0, 40), range(100, 60)));
    assert.equal((await answer(prompts, prompt(range(0, 40), range(200, 60)))).cached, cached, layer.kind);
  }
});
