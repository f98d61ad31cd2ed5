// Overlapping calls in a Worker, and options that are checked before they are sent there.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { load } from "ropewalk/worker";
import { tinyModel } from "../helpers/models.mjs";
import { build, rejects, rw as rwHere } from "../helpers/runtime.mjs";
import { sessionsOf, tokensOf } from "../helpers/sessions.mjs";

const path = tinyModel("llama/model.gguf");
const options = { contextLength: 4096 };
let rw, model, modelHere;

before(async () => {
  rw = await load({ build });
  model = await rw.model(path, options);
  modelHere = await rwHere.model(path, options);
});

after(async () => {
  modelHere?.dispose();
  await rw?.dispose();
});

const tokens = (count, step) => Array.from({ length: count }, (_, i) => 3 + ((i * step) % 60));
const [first, second] = [tokens(600, 7), tokens(600, 11)];
const greedy = { temperature: 0, ignoreEnd: true };

const withSession = (use, from = model) => sessionsOf(from).withSession(use);

const generate8 = (session) => tokensOf(session.generate({ ...greedy, maxTokens: 8 }));

/** Asserts that a session equals one in this thread after calls that don't overlap. */
const equals = (session, ...calls) =>
  withSession(async (here) => {
    for (const call of calls) await call(here);
    assert.deepEqual(await session.tokens, here.tokens);
    assert.deepEqual(await session.logits(), here.logits());
  }, modelHere);

test("appends run in the order of their calls", () =>
  withSession(async (session) => {
    await Promise.all([session.append(first), session.append(second)]);
    await equals(
      session,
      (here) => here.append(first),
      (here) => here.append(second),
    );
  }));

test("every method waits for the calls before it", () =>
  withSession(async (session) => {
    const [, , length] = await Promise.all([
      session.append(tokens(1000, 7)),
      session.rewind(0),
      session.tokens.then((all) => all.length),
      session.append(first),
      session.shift({ keep: 2, discard: 100 }),
      session.retune({ rope_theta: 5000 }),
      session.append([5]),
    ]);
    assert.equal(length, 0);
    await equals(
      session,
      (here) => here.append(first),
      (here) => here.shift({ keep: 2, discard: 100 }),
      (here) => here.retune({ rope_theta: 5000 }),
      (here) => here.append([5]),
    );
    const [saved, , fork] = await Promise.all([session.save(), session.append(second), session.fork()]);
    assert.equal(fork.length, 501 + 600);
    await session.restore(saved);
    assert.equal(session.length, 501);
    await fork.dispose();
  }));

test("a generation runs to its end before the calls that change the session", () =>
  withSession(async (session) => {
    await session.append(first);
    const [one, , two] = await Promise.all([generate8(session), session.append([5]), generate8(session)]);
    assert.deepEqual(await session.tokens, [...first, ...one, 5, ...two]);
    await equals(
      session,
      (here) => here.append(first),
      generate8,
      (here) => here.append([5]),
      generate8,
    );
  }));

test("a loop can read its session", () =>
  withSession(async (session) => {
    await session.append(first);
    const start = performance.now();
    let count = 0;
    for await (const { token } of session.generate({ ...greedy, maxTokens: 8 })) {
      const [all, fork] = await Promise.all([session.tokens, session.fork(), session.logits(), session.save()]);
      assert.equal(all.at(-1), token);
      assert.equal(all.length, 600 + ++count);
      assert.deepEqual(await fork.tokens, all);
      await fork.dispose();
    }
    assert.ok(performance.now() - start < 8000);
  }));

test("a generator that is never asked again gives way after a second", () =>
  withSession(async (session) => {
    await session.append([5, 6, 7]);
    const pieces = session.generate(greedy);
    await pieces.next();
    await Promise.all([session.rewind(2), session.append([8])]);
    assert.deepEqual(await session.tokens, [5, 6, 8]);
    await rejects(pieces.next(), "INVALID_ARGUMENT", "generate");
    await generate8(session);
  }));

test("leaving the loop, and the last piece, free the session at once", () =>
  withSession(async (session) => {
    await session.append([5, 6, 7]);
    for await (const _ of session.generate(greedy)) break;
    const pieces = session.generate({ ...greedy, maxTokens: 1 });
    await pieces.next();
    session.generate(greedy); // never iterated
    const start = performance.now();
    await session.rewind(1);
    assert.ok(performance.now() - start < 900);
  }));

test("dispose() ends the call that runs and those that wait with DISPOSED", async () => {
  const session = await model.session();
  const calls = [session.append(tokens(3000, 7)), session.rewind(0), session.append([5]), generate8(session)];
  const ended = Promise.all(calls.map((call) => rejects(call, "DISPOSED", "session")));
  await session.dispose();
  await ended;
  const own = await rw.model(path, options);
  const other = await own.session();
  const otherCalls = [other.append(tokens(3000, 7)), other.append([5]), generate8(other)];
  const otherEnded = Promise.all(otherCalls.map((call) => rejects(call, "DISPOSED", "model")));
  await own.dispose();
  await otherEnded;
  await other.dispose();
});

test("a call that waits hears its signal", () =>
  withSession(async (session) => {
    const controller = new AbortController();
    const running = session.append(first);
    const waiting = session.append(second, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
    await running;
    assert.deepEqual(await session.tokens, first);
  }));

test("a callback that throws rejects its call and not the Worker", () =>
  withSession(async (session) => {
    const onProgress = () => {
      throw new Error("mine");
    };
    await assert.rejects(session.append(first, { onProgress }), /mine/);
    assert.ok(session.length >= 128);
    await assert.rejects(rw.model(path, { onProgress }), /mine/);
    await session.rewind(0);
    await session.append(first);
    await equals(session, (here) => here.append(first));
  }));

test("options are checked before they are sent", () =>
  withSession(async (session) => {
    await session.append([5, 6, 7]);
    await rejects(load({ biuld: "simd" }), "UNKNOWN_KEY", "biuld");
    await rejects(load(5), "INVALID_ARGUMENT", "options");
    await rejects(rw.model(path, { context_length: 5 }), "UNKNOWN_KEY", "context_length");
    await rejects(rw.model(path, { kv: { dtypes: "f16" } }), "UNKNOWN_KEY", "kv.dtypes");
    await rejects(rw.modelInfo(path, { transfer: true }), "UNKNOWN_KEY", "transfer");
    await rejects(model.session({ contextlength: 5 }), "UNKNOWN_KEY", "contextlength");
    await rejects(session.append([5], { sginal: 1 }), "UNKNOWN_KEY", "sginal");
    await rejects(session.append([5], { signal: 1 }), "INVALID_ARGUMENT", "signal");
    await rejects(session.append([5], { onProgress: 1 }), "INVALID_ARGUMENT", "onProgress");
    await rejects(tokensOf(session.generate({ max_tokens: 5 })), "UNKNOWN_KEY", "max_tokens");
    await rejects(tokensOf(model.generate([5], { max_tokens: 5 })), "UNKNOWN_KEY", "max_tokens");
    await rejects(session.shift({ discarded: 5 }), "UNKNOWN_KEY", "discarded");
    await rejects(session.retune({}, { context_length: 5 }), "UNKNOWN_KEY", "context_length");
    await rejects(model.perplexity([5, 6], { scaling: 5 }), "UNKNOWN_KEY", "scaling");
    await rejects(model.embed([5, 6], { pool: "mean" }), "UNKNOWN_KEY", "pool");
    await rejects(model.promptTokens([5], { tool: [] }), "UNKNOWN_KEY", "tool");
    await rejects(model.renderChat([], { tool: [] }), "UNKNOWN_KEY", "tool");
    for (const list of [null, 5, {}, Symbol("a"), 5n])
      await rejects(session.append(list), "INVALID_ARGUMENT", "tokens");
    await rejects(session.append([Symbol("a")]), "INVALID_ARGUMENT", "options");
    assert.equal(session.length, 3);
  }));
