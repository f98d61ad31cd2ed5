// Generating text: sampling, stopping, and a full context.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { after } from "node:test";
import { readExpected, tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const { prompt } = readExpected("llama", "expected.json");
const model = await rw.model(tinyModel("llama"), { kv: { dtype: "f32" }, contextLength: 64 });
after(() => model.dispose());

async function collect(pieces) {
  const all = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

const generate = (options, tokens = prompt.slice(0, 12)) =>
  collect(model.generate(tokens, { ignoreEnd: true, maxTokens: 20, ...options }));
const tokensOf = (pieces) => pieces.map(({ token }) => token);

test("temperature 0 always chooses the most probable token", async () => {
  const session = model.session();
  await session.append(prompt.slice(0, 12));
  const expected = [];
  for (let i = 0; i < 20; i++) {
    const [{ token }] = session.logprobs(1);
    expected.push(token);
    await session.append([token]);
  }
  session.dispose();
  const pieces = await generate({ temperature: 0 });
  assert.deepEqual(tokensOf(pieces), expected);
  assert.equal(pieces.at(-1).finish, "length");
  assert.ok(pieces.slice(0, -1).every(({ finish }) => finish === undefined));
  assert.ok(pieces.every(({ logprob }) => logprob <= 0));
});

test("the same seed gives the same text, and another seed another text", async () => {
  const options = { temperature: 1.5, topK: 0, topP: 1, minP: 0 };
  const first = tokensOf(await generate({ ...options, seed: 1 }));
  assert.deepEqual(tokensOf(await generate({ ...options, seed: 1 })), first);
  assert.notDeepEqual(tokensOf(await generate({ ...options, seed: 2 })), first);
  assert.notDeepEqual(tokensOf(await generate(options)), tokensOf(await generate(options)));
});

test("topK 1, and a topP or minP that leave one token, equal temperature 0", async () => {
  const greedy = tokensOf(await generate({ temperature: 0 }));
  for (const options of [{ topK: 1 }, { topP: 1e-9 }, { minP: 1 }])
    assert.deepEqual(tokensOf(await generate({ temperature: 2, ...options })), greedy);
});

test("a repetition penalty prevents repeated tokens", async () => {
  const repeats = (tokens) => tokens.length - new Set(tokens).size;
  const free = repeats(tokensOf(await generate({ temperature: 0, maxTokens: 40 })));
  const penalized = repeats(tokensOf(await generate({ temperature: 0, maxTokens: 40, repetitionPenalty: 10 })));
  assert.ok(penalized < free, `${penalized} and ${free}`);
});

test("the text is the decoded tokens", async () => {
  const pieces = await generate({ seed: 3 });
  assert.equal(pieces.map(({ text }) => text).join(""), model.tokenizer.decode(tokensOf(pieces)));
});

test("a stop string ends generation and isn't in the text", async () => {
  const pieces = await generate({ temperature: 0 });
  const whole = pieces.map(({ text }) => text).join("");
  const stop = whole.slice(5, 8);
  const stopped = await generate({ temperature: 0, stop: [stop, "never there"] });
  assert.equal(stopped.map(({ text }) => text).join(""), whole.slice(0, whole.indexOf(stop)));
  assert.equal(stopped.at(-1).finish, "stop");
  await rejects(generate({ stop: "" }), "INVALID_ARGUMENT", "stop");
});

test("a stop token ends generation, like an end token of the model", async () => {
  const tokens = tokensOf(await generate({ temperature: 0 }));
  const stopped = await generate({ temperature: 0, stopTokens: [tokens[3]] });
  assert.deepEqual(tokensOf(stopped), tokens.slice(0, tokens.indexOf(tokens[3]) + 1));
  assert.equal(stopped.at(-1).finish, "stop");
});

test("skipSpecial: false gives the text of special tokens too", async () => {
  const { beginToken } = model.tokenizer;
  assert.ok(model.tokenizer.isSpecial(beginToken));
  const options = { maxTokens: 1, logitBias: { [beginToken]: 1000 } };
  const [[left], [kept]] = [await generate(options), await generate({ ...options, skipSpecial: false })];
  assert.deepEqual([left.token, left.text], [beginToken, ""]);
  assert.deepEqual([kept.token, kept.text], [beginToken, model.tokenizer.token(beginToken)]);
  await rejects(generate({ skipSpecial: 1 }), "INVALID_ARGUMENT", "skipSpecial");
});

test("an end token of the model ends generation, unless ignoreEnd is set", async () => {
  const [end] = model.tokenizer.endTokens;
  const options = { temperature: 50, topK: 0, topP: 1, minP: 0, maxTokens: 50 }; // any of 64 tokens
  const endings = [];
  for (let seed = 0; seed < 8; seed++) {
    const pieces = await generate({ ...options, seed, ignoreEnd: false });
    assert.equal(tokensOf(pieces).indexOf(end), pieces.at(-1).finish === "end" ? pieces.length - 1 : -1);
    endings.push(pieces.at(-1).finish);
    assert.equal((await generate({ ...options, seed })).length, 50);
  }
  assert.ok(endings.includes("end"), String(endings));
});

test("logprobs gives alternatives with each token", async () => {
  const [{ token, logprob, alternatives }] = await generate({ temperature: 0, logprobs: 3, maxTokens: 1 });
  assert.equal(alternatives.length, 3);
  assert.deepEqual(alternatives[0], { token, logprob, text: model.tokenizer.token(token) });
});

test("a full context: stop, shift, extend", async () => {
  const long = Array.from({ length: 60 }, (_, i) => prompt[i % prompt.length]);
  const stopped = await generate({ maxTokens: 30 }, long);
  assert.equal(stopped.at(-1).finish, "full");
  assert.equal(stopped.length, 5); // four that fit, and one that doesn't

  const session = model.session();
  await session.append(long);
  assert.equal(
    (await collect(session.generate({ maxTokens: 30, whenFull: "shift", keep: 2, ignoreEnd: true }))).length,
    30,
  );
  assert.deepEqual(session.tokens.slice(0, 2), long.slice(0, 2));
  assert.equal(session.contextLength, 64);
  session.dispose();

  const extended = model.session();
  await extended.append(long);
  assert.equal((await collect(extended.generate({ maxTokens: 30, whenFull: "extend", ignoreEnd: true }))).length, 30);
  assert.equal(extended.length, 90);
  assert.equal(extended.contextLength, 128);
  extended.dispose();
});

test("whenFull: extend makes room for a long prompt too", async () => {
  const prompt = Array.from({ length: 20 }, (_, i) => 5 + i);
  const options = { contextLength: 8, maxTokens: 3, whenFull: "extend", temperature: 0, ignoreEnd: true };
  assert.equal((await collect(model.generate(prompt, options))).length, 3);
  assert.equal((await collect(model.generateMany([prompt, [5]], options))).length, 6);
  await rejects(collect(model.generate(prompt, { ...options, whenFull: "stop" })), "CACHE_FULL", "prompt");
});

test("whenFull: shift at the smallest contexts", async () => {
  for (const contextLength of [1, 2, 3, 4, 5, 8]) {
    const session = model.session({ contextLength });
    await session.append(prompt.slice(0, contextLength));
    const options = { maxTokens: 30, whenFull: "shift", temperature: 0, ignoreEnd: true };
    const pieces = await collect(session.generate(options));
    assert.equal(pieces.length, 30, String(contextLength));
    assert.equal(pieces.at(-1).finish, "length");
    assert.ok(session.length <= contextLength);
    const kept = contextLength >> 1;
    assert.deepEqual(session.tokens.slice(0, kept), prompt.slice(0, kept)); // half of them, below 8
    session.dispose();
  }
});

test("whenFull: shift with keep that fills the context is refused by that name, before a token is generated", async () => {
  for (const [contextLength, keep] of [
    [1, 1],
    [4, 4],
    [4, 5],
    [64, 64],
  ]) {
    // prettier-ignore
    const session = model.session({ contextLength });
    await session.append([5]);
    const pieces = session.generate({ whenFull: "shift", keep });
    await assert.rejects(pieces.next(), {
      code: "INVALID_ARGUMENT",
      message: `keep: must be below the context length, ${contextLength} (got ${keep})`,
    });
    assert.equal(session.length, 1);
    await rejects(collect(session.generate({ keep, maxTokens: 1 })), "INVALID_ARGUMENT", "keep"); // other policies don't keep
    session.dispose();
  }
});

test("shift makes room in a context that was shortened to the text", async () => {
  const session = model.session();
  await session.append(prompt.slice(0, 40));
  session.retune({}, { contextLength: 40 });
  const pieces = await collect(session.generate({ maxTokens: 5, whenFull: "shift", ignoreEnd: true }));
  assert.equal(pieces.length, 5);
  assert.ok(session.length <= 40);
  session.dispose();
});

test("an option that is undefined has its default", async () => {
  const options = { temperature: undefined, topK: undefined, stop: undefined, signal: undefined, seed: 4 };
  assert.deepEqual(tokensOf(await generate(options)), tokensOf(await generate({ seed: 4 })));
});

test("extending beyond the trained length uses the YaRN factor that reaches it", async () => {
  const { trainedLength } = model.info;
  const session = model.session({ contextLength: trainedLength });
  await session.append(Array.from({ length: trainedLength }, (_, i) => prompt[i % prompt.length]));
  await collect(session.generate({ maxTokens: 3, whenFull: "extend", ignoreEnd: true }));
  const { rope_type, factor, original_max_position_embeddings } = session.rope.rope_scaling;
  assert.deepEqual(
    { rope_type, factor, original_max_position_embeddings },
    { rope_type: "yarn", factor: 2, original_max_position_embeddings: trainedLength },
  );
  session.extend();
  assert.equal(session.rope.rope_scaling.factor, 4);
  session.dispose();
});

test("after an abort between two tokens, or leaving the loop, the session continues", async () => {
  const session = model.session();
  await session.append(prompt.slice(0, 12));
  const controller = new AbortController();
  const reading = (async () => {
    for await (const _ of session.generate({ temperature: 0, ignoreEnd: true, signal: controller.signal }))
      if (session.length === 15) controller.abort(new Error("enough"));
  })();
  await assert.rejects(reading, /enough/);
  assert.equal(session.length, 15);
  for await (const _ of session.generate({ temperature: 0, ignoreEnd: true })) if (session.length === 20) break;
  assert.deepEqual(session.tokens.slice(12), tokensOf(await generate({ temperature: 0, maxTokens: 8 })));
  session.dispose();
});

test("errors name options that are out of range, and the session is unchanged", async () => {
  const wrong = [
    [{ temperature: -1 }, "temperature"],
    [{ temperature: NaN }, "temperature"],
    [{ topP: 0 }, "topP"],
    [{ topP: 1.1 }, "topP"],
    [{ minP: 2 }, "minP"],
    [{ topK: -1 }, "topK"],
    [{ topK: 1.5 }, "topK"],
    [{ repetitionPenalty: 0 }, "repetitionPenalty"],
    [{ seed: -1 }, "seed"],
    [{ maxTokens: -1 }, "maxTokens"],
    [{ whenFull: "burst" }, "whenFull"],
    [{ logprobs: 65 }, "logprobs"],
    [{ keep: -1, whenFull: "shift" }, "keep"],
    [{ keep: 4 }, "keep"],
    [{ stopTokens: ["a"] }, "stopTokens[0]"],
  ];
  for (const [options, field] of wrong) await rejects(generate(options), "INVALID_ARGUMENT", field);
  await rejects(collect(model.session().generate()), "INVALID_ARGUMENT", "session");
});

test("a model without a tokenizer accepts token ids and rejects text", async () => {
  const files = ["config.json", "model.safetensors"].map(
    (name) => new File([readFileSync(tinyModel(`llama/${name}`))], name),
  );
  const bare = await rw.model(files);
  await assert.rejects(collect(bare.generate("text")), {
    code: "UNSUPPORTED_MODEL",
    field: "tokenizer.json: file",
    message: /isn't beside model\.safetensors; add the one of the model's repository, pass token ids, or /,
  });
  assert.equal((await collect(bare.generate([1, 2, 3], { maxTokens: 4 }))).length, 4);
  bare.dispose();
});

test("weights that aren't numbers are the file's fault, not the caller's", async () => {
  for (const name of ["llama", "lfm2"]) {
    const bytes = readFileSync(tinyModel(`${name}/model.gguf`));
    bytes.fill(0xff, bytes.length >> 1);
    for (const [dtype, advice] of [
      [
        "f16",
        /the weights are damaged, or need more range than the cache has; load the model with kv: \{ dtype: "bf16" \}$/,
      ],
      ["f32", /not finite: the weights are damaged$/],
    ]) {
      const damaged = await rw.model(bytes, { kv: { dtype } });
      const expected = { code: "INVALID_FILE", field: "tensors", message: advice };
      await assert.rejects(collect(damaged.generate([1, 2, 3], { maxTokens: 4 })), expected);
      await assert.rejects(damaged.perplexity([1, 2, 3]), expected);
      damaged.dispose();
    }
  }
});

test("a chat without a template is an error; with one it's rendered", async () => {
  const messages = [{ role: "user", content: "a" }];
  await rejects(model.promptTokens(messages), "UNSUPPORTED_MODEL", "model.safetensors: chat_template");
  const chatty = await rw.model(tinyModel("llama"), {
    chatTemplate: "{% for m in messages %}{{ m.content }}{% endfor %}",
  });
  assert.equal(await chatty.renderChat(messages), "a");
  chatty.dispose();
});

test("sampling defaults of generation_config.json apply to sessions, and options override them", async () => {
  const files = ["config.json", "model.safetensors", "tokenizer.json"].map(
    (name) => new File([readFileSync(tinyModel(`llama/${name}`))], name),
  );
  const sampled = await rw.model([...files, new File(['{ "top_k": 1, "temperature": 3 }'], "generation_config.json")], {
    kv: { dtype: "f32" },
  });
  const session = sampled.session();
  await session.append(prompt.slice(0, 12));
  const fork = session.fork();
  const greedy = tokensOf(await generate({ temperature: 0 }));
  for (const one of [session, fork])
    assert.deepEqual(tokensOf(await collect(one.generate({ maxTokens: 20, ignoreEnd: true }))), greedy);
  const free = await collect(
    sampled.generate(prompt.slice(0, 12), { topK: 0, topP: 1, minP: 0, seed: 1, maxTokens: 20, ignoreEnd: true }),
  );
  assert.notDeepEqual(tokensOf(free), greedy);
  for (const object of [session, fork, sampled]) object.dispose();
});
