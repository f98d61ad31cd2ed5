// Calls on a session that overlap: they run one after the other, or are refused, and never mix.
import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import { tinyModel } from "../helpers/models.mjs";
import { raises, rejects, rw } from "../helpers/runtime.mjs";
import { sessionsOf, tokensOf } from "../helpers/sessions.mjs";

const path = tinyModel("llama/model.gguf");
const options = { contextLength: 4096 };
const model = await rw.model(path, options);
after(() => model.dispose());

const tokens = (count, step) => Array.from({ length: count }, (_, i) => 3 + ((i * step) % 60));
const [first, second] = [tokens(600, 7), tokens(600, 11)];
const greedy = { temperature: 0, ignoreEnd: true };

const withSession = (use, from = model) => sessionsOf(from).withSession(use);

/** Tokens and logits after calls that don't overlap. */
const alone = (...calls) =>
  withSession(async (session) => {
    for (const call of calls) await call(session);
    return { tokens: session.tokens, logits: session.logits() };
  });

const stateOf = (session) => ({ tokens: session.tokens, logits: session.logits() });
const generate8 = (session) => tokensOf(session.generate({ ...greedy, maxTokens: 8 }));

/** Starts to append a list and runs `act` after the first batch, while the call runs. */
function duringAppend(session, list, act) {
  let isDone = false;
  const onProgress = () => {
    if (!isDone) act();
    isDone = true;
  };
  return session.append(list, { onProgress });
}

test("appends run in the order of their calls", () =>
  withSession(async (session) => {
    const calls = [session.append(first), session.append(second), session.append([5])];
    await Promise.all(calls);
    assert.deepEqual(session.tokens, [...first, ...second, 5]);
    const apart = await alone(
      (one) => one.append(first),
      (one) => one.append(second),
      (one) => one.append([5]),
    );
    assert.deepEqual(stateOf(session), apart);
  }));

test("a list that changes while its append waits is the list of the call", () =>
  withSession(async (session) => {
    const list = [5, 6, 7];
    const calls = [session.append(first), session.append(list)];
    list.fill(9);
    await Promise.all(calls);
    assert.deepEqual(session.tokens, [...first, 5, 6, 7]);
  }));

test("the begin token depends on the text at the call's turn", () =>
  withSession(async (session) => {
    await Promise.all([session.append("the"), session.append("the")]);
    assert.deepEqual(session.tokens, [
      ...model.tokenizer.encode("the"),
      ...model.tokenizer.encode("the", { special: false }),
    ]);
  }));

test("an append that fails doesn't stop those that wait", () =>
  withSession(async (session) => {
    const calls = [session.append(first), session.append(tokens(4000, 1)), session.append([5])];
    await rejects(calls[1], "CACHE_FULL", "tokens");
    await Promise.all([calls[0], calls[2]]);
    assert.deepEqual(session.tokens, [...first, 5]);
  }));

test("methods that can't wait are refused while a call runs, and change nothing", () =>
  withSession(async (session) => {
    const saved = session.save();
    const refuseAll = () => {
      for (const [name, ...args] of [
        ["rewind", 0],
        ["shift", { discard: 1 }],
        ["retune", { rope_theta: 5000 }],
        ["extend"],
        ["restore", saved],
        ["save"],
        ["fork"],
        ["logits"],
        ["logprobs"],
        ["logprobOf", 3],
        ["hidden"],
        ["attention", 0],
        ["keys", 0],
      ]) {
        raises(() => session[name](...args), "INVALID_ARGUMENT", "session");
        assert.throws(() => session[name](...args), {
          message: `session: append() is running; await it before ${name}()`,
        });
      }
    };
    await duringAppend(session, first, refuseAll);
    assert.deepEqual(stateOf(session), await alone((one) => one.append(first)));
  }));

test("a generation runs to its end before the calls that wait for it", () =>
  withSession(async (session) => {
    await session.append(first);
    const generations = [generate8(session), session.append(second), generate8(session)];
    const [one, , two] = await Promise.all(generations);
    let apart;
    const expected = await alone(
      (other) => other.append(first),
      async (other) => (apart = [await generate8(other)]),
      (other) => other.append(second),
      async (other) => apart.push(await generate8(other)),
    );
    assert.deepEqual([one, two], apart);
    assert.deepEqual(stateOf(session), expected);
  }));

test("a slow loop isn't disturbed", () =>
  withSession(async (session) => {
    await session.append(first);
    const slow = async () => {
      const found = [];
      for await (const { token } of session.generate({ ...greedy, maxTokens: 8 })) {
        found.push(token);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return found;
    };
    const [one, two] = await Promise.all([slow(), generate8(session)]);
    assert.deepEqual(session.tokens, [...first, ...one, ...two]);
  }));

describe("between two pieces", () => {
  const paused = async (session) => {
    await session.append([5, 6, 7]);
    const pieces = session.generate(greedy);
    await pieces.next();
    return pieces;
  };

  test("the session can be read", () =>
    withSession(async (session) => {
      const pieces = await paused(session);
      const fork = session.fork();
      assert.deepEqual(fork.tokens, session.tokens);
      assert.deepEqual(session.logits(), (await alone((one) => one.append(session.tokens))).logits);
      session.save();
      fork.dispose();
      assert.equal((await pieces.next()).done, false);
      assert.equal(session.length, 5);
    }));

  for (const [name, ...args] of [
    ["rewind", 2],
    ["shift", { discard: 1 }],
    ["retune", { rope_theta: 5000 }],
    ["extend"],
  ])
    test(`${name} ends the generation, which its loop hears`, () =>
      withSession(async (session) => {
        const pieces = await paused(session);
        session[name](...args);
        await rejects(pieces.next(), "INVALID_ARGUMENT", "generate");
        assert.deepEqual(await pieces.next(), { value: undefined, done: true });
        await session.append([8]);
      }));

  test("a change that fails doesn't end it", () =>
    withSession(async (session) => {
      const pieces = await paused(session);
      raises(() => session.rewind(100), "INVALID_ARGUMENT", "length");
      raises(() => session.shift({ discard: 100 }), "INVALID_ARGUMENT", "discard");
      assert.equal((await pieces.next()).done, false);
      await pieces.return();
    }));

  test("a generator that is never asked again gives way after a second", () =>
    withSession(async (session) => {
      const pieces = await paused(session);
      const start = performance.now();
      await Promise.all([session.append([8]), generate8(session)]);
      assert.ok(performance.now() - start < 5000);
      assert.equal(session.length, 4 + 1 + 8);
      await assert.rejects(pieces.next(), { code: "INVALID_ARGUMENT", message: /^generate: was ended by append\(\)/ });
    }));

  test("leaving the loop frees the session at once", () =>
    withSession(async (session) => {
      await session.append([5, 6, 7]);
      for await (const _ of session.generate(greedy)) break;
      session.rewind(3);
      for await (const _ of session.generate(greedy)) break;
      await session.append([8]);
      assert.equal(session.length, 5);
    }));
});

test("a generator that isn't iterated holds nothing", () =>
  withSession(async (session) => {
    await session.append([5, 6, 7]);
    const unused = session.generate(greedy);
    session.rewind(2);
    await session.append([8]);
    await unused.return();
    assert.equal(session.length, 3);
  }));

test("a loop that doesn't ask after the last piece holds nothing", () =>
  withSession(async (session) => {
    await session.append([5, 6, 7]);
    const pieces = session.generate({ ...greedy, maxTokens: 1 });
    assert.equal((await pieces.next()).value.finish, "length");
    const start = performance.now();
    await session.append([8]);
    assert.ok(performance.now() - start < 900);
  }));

test("several steps that are asked for at once come one after the other", () =>
  withSession(async (session) => {
    await session.append(first);
    const pieces = session.generate({ ...greedy, maxTokens: 3 });
    const steps = await Promise.all([pieces.next(), pieces.next(), pieces.next(), pieces.next()]);
    assert.deepEqual(steps.slice(0, 3).map(({ value }) => value.token), session.tokens.slice(600)); // prettier-ignore
    assert.equal(steps[3].done, true);
  }));

test("sessions of one model overlap without an effect on each other", () =>
  withSession((a) =>
    withSession(async (b) => {
      const run = async (session, list) => {
        await session.append(list);
        return [await generate8(session), await model.perplexity(list.slice(0, 300))];
      };
      const [together] = [await Promise.all([run(a, first), run(b, second), model.embed(first)])];
      const apart = [await withSession((one) => run(one, first)), await withSession((one) => run(one, second))];
      assert.deepEqual(together, [...apart, await model.embed(first)]);
      assert.deepEqual(a.logits(), (await alone((one) => one.append(first), generate8)).logits);
    }),
  ));

test("dispose() ends the call that runs and those that wait with DISPOSED", async () => {
  for (const isModel of [false, true]) {
    const own = await rw.model(path, options);
    const session = own.session();
    const field = isModel ? "model" : "session";
    const dispose = () => (isModel ? own : session).dispose();
    const calls = [duringAppend(session, tokens(3000, 7), dispose), session.append([5]), generate8(session)];
    await Promise.all(calls.map((call) => rejects(call, "DISPOSED", field)));
    assert.equal(session.length, 128);
    raises(() => session.rewind(0), "DISPOSED", field);
    await rejects(session.append([5]), "DISPOSED", field);
    session.dispose();
    own.dispose();
  }
});

test("dispose() in the last batch of an append, and between two pieces", async () => {
  const session = model.session();
  const last = session.append([5, 6], { onProgress: () => session.dispose() });
  await rejects(last, "DISPOSED", "session");
  const other = model.session();
  await other.append([5, 6]);
  const pieces = other.generate(greedy);
  await pieces.next();
  const waiting = other.append([7]);
  other.dispose();
  await rejects(waiting, "DISPOSED", "session");
  await rejects(pieces.next(), "DISPOSED", "session");
});

test("a call that waits hears its signal", () =>
  withSession(async (session) => {
    const controller = new AbortController();
    const { signal } = controller;
    const long = tokens(3000, 7);
    const running = session.append(long);
    const waiting = [session.append(second, { signal }), tokensOf(session.generate({ ...greedy, signal }))];
    const last = session.append([5]);
    controller.abort(new Error("enough"));
    for (const call of waiting) await assert.rejects(call, /enough/);
    assert.ok(session.length < long.length, "while the first call runs");
    await Promise.all([running, last]);
    assert.deepEqual(session.tokens, [...long, 5]);
  }));

test("a callback that throws rejects its call, and the session stays usable", () =>
  withSession(async (session) => {
    const onProgress = () => {
      throw new Error("mine");
    };
    await assert.rejects(session.append(first, { onProgress }), /mine/);
    assert.equal(session.length, 128);
    await session.append(first.slice(128));
    assert.deepEqual(session.logits(), (await alone((one) => one.append(first))).logits);
  }));

test("tokens is a copy that nobody can change", () =>
  withSession(async (session) => {
    await session.append([5, 6, 7]);
    const { tokens: before } = session;
    assert.throws(() => before.push(1), TypeError);
    await session.append([8]);
    assert.deepEqual(before, [5, 6, 7]);
    assert.deepEqual(session.tokens, [5, 6, 7, 8]);
  }));
