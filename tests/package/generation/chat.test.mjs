// session.chat() and model.complete(), here and in a Worker. chat_random.test.mjs compares chats with new sessions.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { inspect } from "node:util";
import { load } from "ropewalk/worker";
import { tinyModel } from "../helpers/models.mjs";
import { build, rejects, rw } from "../helpers/runtime.mjs";

const chatTemplate = `{% for m in messages %}{% if m.role != "tool" %}{{ m.role }} {{ m.content }} {% endif %}{% endfor %}
{%- if add_generation_prompt %}assistant {% endif %}`;
const path = tinyModel("llama/model.gguf");
const loaded = { chatTemplate, contextLength: 128 };
const worker = await load({ build });
const places = { here: await rw.model(path, loaded), worker: await worker.model(path, loaded) };
after(async () => {
  places.here.dispose();
  await worker.dispose();
});

const user = (content) => ({ role: "user", content });
const greedy = { temperature: 0, ignoreEnd: true, maxTokens: 6 };

async function collect(pieces) {
  const all = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

for (const [place, model] of Object.entries(places)) {
  test(`${place}: a turn reads only what is new, and says how far it is`, async () => {
    const session = await model.session();
    const messages = [user("the cat sat")];
    const read = [];
    const onProgress = ({ done, total }) => read.push([done, total]);
    const first = await collect(session.chat(messages, { ...greedy, onProgress }));
    const prompt = await model.promptTokens(messages);
    assert.deepEqual(read.splice(0), [[prompt.length, prompt.length]]);
    assert.deepEqual(first, await collect(model.generate(messages, greedy)));

    assert.deepEqual(await collect(session.chat(messages, { ...greedy, onProgress })), first);
    assert.deepEqual(read.splice(0), []);

    messages.push({ role: "assistant", content: first.map(({ text }) => text).join("") }, user("a dog"));
    const next = await model.promptTokens(messages);
    const tokens = await session.tokens;
    const same = next.findIndex((token, i) => token !== tokens[i]);
    await collect(session.chat(messages, { ...greedy, onProgress }));
    assert.ok(same > prompt.length / 2);
    assert.deepEqual(read, [[next.length - same, next.length - same]]);
    await session.dispose();
  });

  test(`${place}: the last piece has the reason, and the session the tokens`, async () => {
    const session = await model.session();
    const pieces = await collect(session.chat([user("the")], greedy));
    assert.equal(pieces.at(-1).finish, "length");
    const prompt = await model.promptTokens([user("the")]);
    assert.deepEqual(await session.tokens, [...prompt, ...pieces.map(({ token }) => token)]);
    const [{ alternatives }] = await collect(
      session.chat([user("the")], { temperature: 0, logprobs: 3, format: { choices: ["cat", "dog"] } }),
    );
    assert.equal(alternatives.length, 3);
    assert.match(await await session.text, /(cat|dog)$/);
    await session.dispose();
  });

  test(`${place}: a chat that doesn't fit changes nothing, and whenFull "extend" makes room`, async () => {
    const session = await model.session();
    await collect(session.chat([user("the cat")], greedy));
    const before = await session.tokens;
    const long = [user("the cat sat on a dog ".repeat(20))];
    const { length } = await model.promptTokens(long);
    await assert.rejects(collect(session.chat(long, greedy)), {
      code: "CACHE_FULL",
      field: "messages",
      message: `messages: the chat has ${length} tokens, but the context length is 128; send fewer messages, use a larger contextLength, or pass whenFull: "extend"`,
    });
    assert.deepEqual(await session.tokens, before);
    await collect(session.chat(long, { ...greedy, whenFull: "extend" }));
    assert.equal(session.length, length + 6);
    assert.equal(session.contextLength, 512);
    await session.dispose();
  });

  test(`${place}: options are those of generate() and of rendering`, async () => {
    const session = await model.session();
    const chat = (messages, options) => collect(session.chat(messages, options));
    await assert.rejects(
      chat([user("a")], { max_tokens: 5 }),
      /isn't an option of chat\(\); did you mean maxTokens\?$/,
    );
    await rejects(chat([user("a")], { templateName: "other" }), "INVALID_ARGUMENT", "templateName");
    await rejects(chat([user("a")], { onProgress: 5 }), "INVALID_ARGUMENT", "onProgress");
    await rejects(chat([user("a")], { topP: 3 }), "INVALID_ARGUMENT", "topP");
    for (const messages of [[], "the", [5], undefined, [{ content: "a" }]])
      await assert.rejects(chat(messages, greedy), { code: "INVALID_ARGUMENT", field: /^messages/ });
    await rejects(chat([user("a"), { role: "tool", content: "b" }], greedy), "INVALID_ARGUMENT", "messages[1].content");
    const warnings = [];
    const calls = [{ type: "function", function: { name: "f", arguments: {} } }];
    const messages = [user("a"), { role: "assistant", content: "b", tool_calls: calls }, user("c")];
    await chat(messages, { ...greedy, onWarning: (message) => warnings.push(message) });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /^messages\[1\]\.tool_calls/);
    await session.dispose();
  });

  test(`${place}: an abort ends the turn, and the next one goes on`, async () => {
    const session = await model.session();
    await assert.rejects(
      collect(session.chat([user("a")], { signal: AbortSignal.abort(new Error("never")) })),
      /never/,
    );
    const controller = new AbortController();
    const aborted = (async () => {
      for await (const piece of session.chat([user("the cat")], { ...greedy, signal: controller.signal }))
        controller.abort(new Error(`after ${piece.token}`));
    })();
    await assert.rejects(aborted, /^Error: after \d+$/);
    assert.deepEqual(await collect(session.chat([user("the cat")], greedy)), await collect(model.generate([user("the cat")], greedy))); // prettier-ignore
    await session.dispose();
  });

  test(`${place}: calls wait for a turn, and a fork between two pieces has its own chat`, async () => {
    const session = await model.session();
    let fork;
    const turn = (async () => {
      for await (const _ of session.chat([user("the cat")], greedy)) fork ??= await session.fork();
    })();
    const appended = session.append([5]);
    await turn;
    await appended;
    assert.equal((await session.tokens).at(-1), 5);
    assert.deepEqual(await collect(fork.chat([user("a")], greedy)), await collect(model.generate([user("a")], greedy)));
    await fork.dispose();
    await session.dispose();
  });

  test(`${place}: complete() is generate() as a whole`, async () => {
    const pieces = await collect(model.generate("the cat", { ...greedy, seed: 1 }));
    const tokens = pieces.map(({ token }) => token);
    const text = pieces.map((piece) => piece.text).join("");
    assert.deepEqual(await model.complete("the cat", { ...greedy, seed: 1 }), { text, finish: "length", tokens });
    assert.deepEqual(await model.complete("the cat", { maxTokens: 0 }), { text: "", finish: "length", tokens: [] });
    const stopped = await model.complete("the cat", { ...greedy, stopTokens: [tokens[2]] });
    assert.deepEqual(stopped.tokens, tokens.slice(0, tokens.indexOf(tokens[2]) + 1));
    assert.equal(stopped.finish, "stop");
    const chat = await model.complete([user("the")], greedy);
    assert.deepEqual(
      chat.tokens,
      (await collect(model.generate([user("the")], greedy))).map(({ token }) => token),
    );
    await assert.rejects(model.complete("a", { logprobs: 2 }), { code: "UNKNOWN_KEY", field: "logprobs" });
    await assert.rejects(model.complete("a", { signal: AbortSignal.abort(new Error("never")) }), /never/);
    await rejects(model.complete([], {}), "INVALID_ARGUMENT", "prompt");
  });
}

for (const [place, model] of Object.entries(places))
  test(`${place}: pieces that nobody reads in a loop say what to do`, async () => {
    const session = await model.session();
    const calls = {
      generate: () => model.generate("the"),
      generateMany: () => model.generateMany(["the"]),
      chat: () => session.chat([user("the")]),
    };
    for (const [call, act] of Object.entries(calls)) {
      const todo = `read them with for await (const piece of ${call}(…)), or await model.complete() for the whole text`;
      const message = `${call}: gives pieces one by one; ${todo}`;
      const given = await act();
      for (const use of [() => given.text, () => [...given], () => given.choices[0], () => JSON.stringify(given)])
        assert.throws(use, { name: "RopewalkError", code: "INVALID_ARGUMENT", field: call, message });
      assert.equal(`${given}`, `[pieces of ${call}(): ${todo}]`);
      assert.equal(inspect(given), `[pieces of ${call}(): ${todo}]`);
      assert.equal((await collect(await act())).length > 0, true);
    }
    await session.dispose();
  });

test("a session without a chat template says what to do", async () => {
  const model = await rw.model(path);
  const session = model.session();
  await assert.rejects(collect(session.chat([user("a")])), {
    code: "UNSUPPORTED_MODEL",
    message:
      /the model has no chat template; load the model with the option `chatTemplate`, or pass the prompt as text$/,
  });
  model.dispose();
});

test("errors name the call that runs, and the one that ended a turn", async () => {
  const session = places.here.session();
  const turn = session.chat([user("the cat")], greedy);
  const first = turn.next();
  assert.throws(() => session.rewind(0), /^RopewalkError: session: chat\(\) is running; await it before rewind\(\)$/);
  await first;
  session.rewind(0);
  await assert.rejects(turn.next(), {
    code: "INVALID_ARGUMENT",
    field: "chat",
    message: /^chat: was ended by rewind\(\)/,
  });
  session.dispose();
});
