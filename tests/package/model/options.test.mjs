// Options of models and sessions: unknown names, values of wrong types, and getters with effects.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { tinyModel } from "../helpers/models.mjs";
import { raises, rejects, rw } from "../helpers/runtime.mjs";

const path = tinyModel("llama/model.gguf");
const model = await rw.model(path);
after(() => model.dispose());
const session = model.session();
await session.append([5, 6, 7]);
const before = session.save();

async function collect(pieces) {
  const all = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** Calls with an options object, by the call that errors name. */
const calls = {
  "rw.model()": (options) => rw.model(path, options),
  "session()": async (options) => model.session(options).dispose(),
  "append()": (options) => session.append([5], options),
  "generate()": (options) => collect(session.generate(options)),
  "shift()": async (options) => session.shift(options),
  "retune()": async (options) => session.retune({}, options),
  "perplexity()": (options) => model.perplexity([5, 6], options),
  "embed()": (options) => model.embed([5, 6], options),
  "renderChat()": (options) => model.renderChat([{ role: "user", content: "a" }], options),
};

test("an unknown option is an error that suggests the nearest name", async () => {
  const wrong = [
    ["rw.model()", "context_length", "contextLength"],
    ["rw.model()", "chat_template", "chatTemplate"],
    ["session()", "context_length", "contextLength"],
    ["append()", "on_progress", "onProgress"],
    ["append()", "Signal", "signal"],
    ["generate()", "max_tokens", "maxTokens"],
    ["generate()", "top_k", "topK"],
    ["generate()", "stopToken", "stopTokens"],
    ["shift()", "discards", "discard"],
    ["retune()", "context_length", "contextLength"],
    ["perplexity()", "windows", "window"],
    ["embed()", "sginal", "signal"],
    ["renderChat()", "add_generation_prompt", "addGenerationPrompt"],
  ];
  for (const [call, name, nearest] of wrong) {
    await assert.rejects(calls[call]({ [name]: 1 }), {
      name: "RopewalkError",
      code: "UNKNOWN_KEY",
      field: name,
      message: `${name}: "${name}" isn't an option of ${call}; did you mean ${nearest}?`,
    });
  }
  await rejects(calls["perplexity()"]({ scaling: {} }), "UNKNOWN_KEY", "scaling");
  await rejects(rw.modelInfo(path, { context_length: 5 }), "UNKNOWN_KEY", "context_length");
  await rejects(collect(model.generate([5], { max_tokens: 5 })), "UNKNOWN_KEY", "max_tokens");
  await rejects(model.promptTokens("a", { tool: [] }), "UNKNOWN_KEY", "tool");
  await assert.rejects(model.promptTokens("a", { parsespecial: false }), /isn't an option of promptTokens\(\)/);
  await rejects(model.promptTokens("a", { templateName: "default" }), "INVALID_ARGUMENT", "templateName");
  await rejects(model.promptTokens([5], { tools: [] }), "INVALID_ARGUMENT", "tools");
  await rejects(rw.model(path, { kv: { dtypes: "f16" } }), "UNKNOWN_KEY", "kv.dtypes");
  await rejects(rw.model(path, { tokenizer: { tokenizer_config: {} } }), "UNKNOWN_KEY", "tokenizer.tokenizer_config");
  const kinds = { full_attention: { rope_theta: 5000 }, sliding: { rope_theta: 5000 } };
  await rejects(rw.model(path, { rope: kinds }), "UNKNOWN_KEY", "rope.sliding");
  await rejects(model.perplexity([5, 6], { rope: kinds }), "UNKNOWN_KEY", "rope.sliding");
});

test("a cache of 4 bits is a warning, and others aren't", async () => {
  for (const [dtype, expected] of [
    ["f16", []],
    ["q8_0", []],
    [
      "q4_0",
      [["a cache of q4_0 changes what a model says; use q8_0, or q4_channel, which is about as small", "COARSE_CACHE"]],
    ],
  ]) {
    const found = [];
    const onWarning = (message, { code }) => found.push([message, code]);
    (await rw.model(path, { kv: { dtype }, onWarning })).dispose();
    assert.deepEqual(found, expected, dtype);
  }
});

test("a context that is longer than the RoPE supports is a warning, and no other is", async () => {
  const warnings = async (options) => {
    const found = [];
    (await rw.model(path, { ...options, onWarning: (message) => found.push(message) })).dispose();
    return found;
  };
  assert.deepEqual(await warnings({ contextLength: 400 }), [
    'a context of 400 tokens is longer than the 128 this RoPE supports; extend it with rope_type yarn and factor 4, or with position_map { type: "rerope", window: 64 }',
  ]);
  assert.deepEqual(await warnings({ contextLength: 128 }), []);
  const scaled = (rope_type, factor) => ({ contextLength: 400, rope: { rope_scaling: { rope_type, factor } } });
  assert.deepEqual(await warnings(scaled("yarn", 4)), []);
  assert.deepEqual(await warnings(scaled("dynamic", 2)), []);
  const mapped = (position_map) => ({ contextLength: 400, rope: { position_map } });
  assert.deepEqual(await warnings(mapped({ type: "rerope", window: 127 })), []);
  assert.deepEqual(await warnings(mapped({ type: "rerope", window: 128 })), [
    "position map rerope, window 128: a context of 400 tokens has distances up to 128, and this RoPE supports less than 128; choose numbers that fit, such as position map rerope, window 64 (rerope:64)",
  ]);
});

test("following the advice of that warning ends it, and layers with a window alone need none", async () => {
  const warnings = async (name, options) => {
    const found = [];
    const onWarning = (message) => found.push(message);
    (await rw.model(tinyModel(name), { contextLength: 3000, ...options, onWarning })).dispose();
    return found.join();
  };
  for (const name of ["llama", "mistral3", "gpt_oss", "deepseek_v3"]) {
    const advised = /extend it with rope_type yarn and factor (\d+)(?:, or with position_map .*window: (\d+) \})?$/;
    const [, factor, window] = advised.exec(await warnings(name));
    const rope = { rope_scaling: { rope_type: "yarn", factor: Number(factor) } };
    assert.equal(await warnings(name, { rope }), "", name);
    if (window === undefined) continue; // a scaling of its own
    const position_map = { type: "rerope", window: Number(window) };
    assert.equal(await warnings(name, { rope: { position_map } }), "", name);
  }
  assert.match(await warnings("llama3"), /make it shorter, or replace the model's own scaling, llama3$/);
  for (const name of ["cohere2", "exaone4"]) assert.equal(await warnings(name), "", name);
});

test("options that are no object, or have values of another type, are errors", async () => {
  for (const [name, call] of Object.entries(calls))
    for (const options of [null, 5, "a", true, Symbol("a"), 5n, [], new Float32Array(1), () => 1])
      await assert.rejects(call(options), { name: "RopewalkError", code: "INVALID_ARGUMENT", field: "options" }, name);
  for (const name of ["rw.model()", "append()", "generate()", "perplexity()", "embed()"])
    for (const signal of [null, 5, {}, new AbortController()])
      await rejects(calls[name]({ signal }), "INVALID_ARGUMENT", "signal");
  for (const name of ["rw.model()", "append()", "perplexity()"])
    for (const onProgress of [null, 5, {}])
      await rejects(calls[name]({ onProgress }), "INVALID_ARGUMENT", "onProgress");
  await rejects(rw.model(path, { onWarning: 5 }), "INVALID_ARGUMENT", "onWarning");
  for (const chatTemplate of [5, "", "{% for x in %}", "{{"])
    await rejects(rw.model(path, { chatTemplate }), "INVALID_ARGUMENT", "chatTemplate");
  for (const hub of ["", "foo", 5]) await rejects(rw.model(path, { hub }), "INVALID_ARGUMENT", "hub");
  await rejects(rw.model(path, { kv: 5 }), "INVALID_ARGUMENT", "kv");
  await rejects(rw.model(path, { tokenizer: null }), "INVALID_ARGUMENT", "tokenizer");
  for (const rope of [null, 5, "yarn"]) {
    await rejects(rw.model(path, { rope }), "INVALID_ARGUMENT", "rope");
    await rejects(model.perplexity([5, 6], { rope }), "INVALID_ARGUMENT", "rope");
  }
  raises(() => session.retune({}, { kind: "other" }), "INVALID_ARGUMENT", "kind");
  raises(() => session.retune(5), "INVALID_ARGUMENT", "rope");
  for (const stop of [5, {}, [5], [""], [undefined]])
    await rejects(calls["generate()"]({ stop }), "INVALID_ARGUMENT", "stop");
  for (const stopTokens of [5, {}, "5"])
    await rejects(calls["generate()"]({ stopTokens }), "INVALID_ARGUMENT", "stopTokens");
  for (const id of [undefined, -1, 1.5, 1e9])
    await rejects(calls["generate()"]({ stopTokens: [5, id] }), "INVALID_ARGUMENT", "stopTokens[1]");
  await rejects(calls["generate()"]({ ignoreEnd: 1 }), "INVALID_ARGUMENT", "ignoreEnd");
  await rejects(rw.model(path, { kv: { dtype: "x" } }), "INVALID_DTYPE", "kv.dtype");
  await rejects(rw.model(path, { kv: { keys: "x" } }), "INVALID_ARGUMENT", "kv.keys");
});

test("errors about a RoPE have the path of what the caller wrote, in the option rope", async () => {
  const linear = (factor) => ({ rope_scaling: { rope_type: "linear", factor } });
  const gemma = tinyModel("gemma3");
  const cases = [
    [{ rope_thetaa: 1 }, "UNKNOWN_KEY", "rope_thetaa"],
    [{ rope_scaling: { rope_type: "linear", faktor: 4 } }, "UNKNOWN_KEY", "rope_scaling.faktor"],
    [linear(-4), "INVALID_CONFIG", "rope_scaling.factor"], // found when the RoPE is made
    [{ rope_parameters: { rope_type: "linear", factor: -4 } }, "INVALID_CONFIG", "rope_parameters.factor"],
    [{ rope_theta: "a" }, "INVALID_CONFIG", "rope_theta"],
  ];
  for (const [rope, code, field] of cases) {
    await rejects(rw.model(path, { rope }), code, `rope.${field}`);
    raises(() => session.retune(rope), code, `rope.${field}`);
    await rejects(model.perplexity([5, 6], { rope }), code, `rope.${field}`);
    await rejects(rw.model(gemma, { rope: { sliding_attention: rope } }), code, `rope.sliding_attention.${field}`);
  }
});

test("lists of tokens that aren't lists, or have other values, are errors", async () => {
  for (const list of [null, undefined, 5, {}, () => 1, Symbol("a"), 5n, new DataView(new ArrayBuffer(8))]) {
    await rejects(session.append(list), "INVALID_ARGUMENT", "tokens");
    await rejects(model.perplexity(list), "INVALID_ARGUMENT", "tokens");
    await rejects(model.embed(list), "INVALID_ARGUMENT", "text");
    await rejects(model.promptTokens(list), "INVALID_ARGUMENT", "prompt");
  }
  for (const list of [["a"], [5, 64], [5, null], [5n], [[5]]]) {
    await rejects(session.append(list), "INVALID_ARGUMENT", `tokens[${list.length - 1}]`);
    await rejects(model.perplexity(list), "INVALID_ARGUMENT", `tokens[${list.length - 1}]`);
  }
  await rejects(model.promptTokens([5, "a"]), "INVALID_ARGUMENT", "prompt[1]");
  const endless = { *[Symbol.iterator]() { for (;;) yield 5; } }; // prettier-ignore
  await rejects(session.append(endless), "INVALID_ARGUMENT", "tokens");
  const detached = Int32Array.of(5, 6);
  structuredClone(detached, { transfer: [detached.buffer] });
  await session.append(detached); // no tokens
  assert.equal(session.length, 3);
});

test("an empty prompt, and messages that are no messages, are errors that say what to pass", async () => {
  const empty = {
    code: "INVALID_ARGUMENT",
    message: /^prompt: is empty; pass text, or token ids, with at least one token$/,
  };
  const nothing = { code: "INVALID_ARGUMENT", message: /^text: has no tokens; pass text, or token ids/ };
  for (const prompt of ["", [], new Int32Array()]) {
    const adds = prompt === "" && model.tokenizer.encode("").length > 0; // the begin token
    if (!adds) await assert.rejects(collect(model.generate(prompt)), empty);
    const isListOfTexts = Array.isArray(prompt);
    if (!adds && !isListOfTexts) await assert.rejects(model.embed(prompt), nothing);
  }
  assert.deepEqual(await model.embed([]), []);
  await assert.rejects(model.embed([[5], []]), { code: "INVALID_ARGUMENT", message: /^texts\[1\]: has no tokens/ });
  for (const wrong of [1n, "a", null, undefined, true, [5]]) {
    const expected = { code: "INVALID_ARGUMENT", message: /^prompt\[0\]: must be an integer from 0 to 63 \(got / };
    await assert.rejects(collect(model.generate([wrong])), expected);
  }
});

test("errors name the call that was made", async () => {
  const called = (call) => ({ message: new RegExp(`option.* of rw\\.${call}\\(\\)`) });
  await assert.rejects(rw.modelInfo(path, { contex: 1 }), called("modelInfo"));
  await assert.rejects(rw.modelInfo(path, { kv: { dtypes: 1 } }), called("modelInfo"));
  await assert.rejects(rw.modelInfo(path, 5), called("modelInfo"));
  await assert.rejects(rw.model(path, { kv: { dtypes: 1 } }), called("model"));
  const busy = model.session();
  const append = busy.append([5]);
  assert.throws(() => busy.fork(), { message: "session: append() is running; await it before fork()" });
  await append;
  busy.dispose();
});

test("config.json instead of its folder is an error that says to pass the folder", async () => {
  await assert.rejects(rw.model(tinyModel("llama/config.json")), {
    code: "INVALID_FILE",
    message: /^config\.json: weight_map: is missing: .*pass the folder/,
  });
});

test("a getter that disposes of the session or the model ends the call with DISPOSED", async () => {
  const acts = {
    append: (one, act) => one.append([5], { get signal() { return act(); } }),
    generate: (one, act) => collect(one.generate({ get maxTokens() { return act(); } })),
    shift: async (one, act) => one.shift({ discard: 1, get keep() { return act(); } }),
    retune: async (one, act) => one.retune({ get rope_theta() { return act(); } }),
    list: (one, act) => one.append({ *[Symbol.iterator]() { act(); yield 5; } }),
  }; // prettier-ignore
  for (const [name, act] of Object.entries(acts)) {
    for (const field of ["session", "model"]) {
      const source = await rw.model(path);
      const one = source.session();
      await one.append([5, 6, 7]);
      const result = act(one, () => void (field === "model" ? source : one).dispose());
      await assert.rejects(result, { name: "RopewalkError", code: "DISPOSED", field }, name);
      one.dispose();
      source.dispose();
    }
  }
  const own = await rw.model(path);
  const options = { get contextLength() { own.dispose(); return 8; } }; // prettier-ignore
  raises(() => own.session(options), "DISPOSED", "model");
  raises(() => own.session(), "DISPOSED", "model");
});

test("nothing of this has changed the session", () => {
  assert.deepEqual(session.save(), before);
  session.dispose();
});
