// The option `format` with random models: their text is always what the format allows. The grammars themselves, and JSON schemas, are tested
// in tests/unit/grammar.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test, { after } from "node:test";
import { load as loadWorker } from "ropewalk/worker";
import { tinyModel } from "../helpers/models.mjs";
import { build, rw } from "../helpers/runtime.mjs";

/** Has a token for each byte, and 16 longer ones. */
const model = await rw.model(tinyModel("rwkv7"));
const letters = await rw.model(tinyModel("llama"), { kv: { dtype: "f32" } });
after(() => [model, letters].forEach((one) => one.dispose()));

/** What ends texts and lists soon, for a random model knows no end. */
const ENDING = Object.fromEntries(
  Array.from('"]}', (character) => [model.tokenizer.encode(character, { special: false })[0], 4]),
);

async function generated(from, options, prompt = "a b") {
  const pieces = [];
  for await (const piece of from.generate(prompt, { temperature: 1, topK: 0, topP: 1, minP: 0, ...options }))
    pieces.push(piece);
  return { text: pieces.map(({ text }) => text).join(""), finish: pieces.at(-1)?.finish, pieces };
}

test("every format, with the end where the text is complete", async () => {
  for (let seed = 0; seed < 20; seed++) {
    const options = { seed, maxTokens: 500 };
    const object = await generated(model, { ...options, format: "json", logitBias: ENDING });
    if (object.finish === "end")
      assert.equal(Object.getPrototypeOf(JSON.parse(object.text)), Object.prototype, object.text);
    const choice = await generated(model, { ...options, format: { choices: ["yes", "no", "é😀"] } });
    assert.ok(["yes", "no", "é😀"].includes(choice.text), choice.text);
    assert.equal(choice.finish, "end");
    const date = await generated(model, { ...options, format: { regex: /\d{4}-\d\d/ } });
    assert.match(date.text, /^\d{4}-\d\d$/);
    const list = await generated(model, { ...options, format: { grammar: 'root ::= ("- " [à-ü]{1,9} "\\n"){2}' } });
    assert.match(list.text, /^(- [à-ü]{1,9}\n){2}$/);
  }
});

test("the most probable token is one that the format allows, and alternatives are those of the model", async () => {
  const { pieces } = await generated(model, {
    temperature: 0,
    logprobs: 2,
    maxTokens: 6,
    format: { regex: "[0-9]{4}" },
  });
  for (const { token, alternatives } of pieces.slice(0, 4)) {
    const logprobs = new Map(alternatives.map((one) => [one.token, one.logprob]));
    assert.match(model.tokenizer.decode([token]), /\d/);
    assert.equal(logprobs.size, 2);
  }
});

test("maxTokens and stop end a text before it is complete", async () => {
  const format = { regex: "(abc)+" };
  assert.deepEqual(shown(await generated(model, { format, maxTokens: 2, seed: 1 })), { text: "ab", finish: "length" });
  assert.deepEqual(shown(await generated(model, { format, stop: "c", seed: 1 })), { text: "ab", finish: "stop" });
});

const refuses = (promise, field, message) => assert.rejects(promise, { code: "INVALID_ARGUMENT", field, message });

const shown = ({ text, finish }) => ({ text, finish });

test("sessions with the same format don't disturb each other", async () => {
  const format = { schema: { type: "array", items: { type: "integer" }, minItems: 3, maxItems: 3 } };
  const alone = await generated(model, { format, seed: 5 });
  const sessions = [model.session(), model.session()];
  for (const session of sessions) await session.append("a b");
  const streams = sessions.map((session) =>
    session.generate({ temperature: 1, topK: 0, topP: 1, minP: 0, format, seed: 5 }),
  );
  const texts = ["", ""];
  for (let open = true; open;) {
    const steps = await Promise.all(streams.map((stream) => stream.next()));
    open = steps.some(({ done }) => !done);
    steps.forEach(({ value }, i) => (texts[i] += value?.text ?? ""));
  }
  assert.deepEqual(texts, [alone.text, alone.text]);
  for (const session of sessions) session.dispose();
});

test("a model without an end token can't write the empty text", async () => {
  const read = (name) => readFileSync(tinyModel(`llama/${name}`));
  const config = { ...JSON.parse(read("config.json")), eos_token_id: null };
  const endless = await rw.model([
    new File([read("model.safetensors")], "model.safetensors"),
    new File([JSON.stringify(config)], "config.json"),
    new File([read("tokenizer.json").toString().replaceAll("</s>", "<other>")], "tokenizer.json"),
  ]);
  for (const format of [{ choices: [""] }, { regex: /^$/ }, { grammar: 'root ::= ""' }])
    await refuses(
      generated(endless, { format }),
      "format",
      /only the empty text, and the model has no token that ends/,
    );
  assert.equal((await generated(endless, { format: { regex: "ab?" }, seed: 1 })).text, "ab");
  endless.dispose();
});

test("a format that a small schema makes large is refused", async () => {
  const schema = { type: "array", contains: { const: 2 }, minContains: 1_000_000_000 };
  await refuses(generated(model, { format: { schema } }), "format.schema.minContains", /is too large/);
});

test("guesses from repeats are checked with the format", async () => {
  const prompt = "the the the the";
  for (let seed = 0; seed < 10; seed++) {
    const options = { seed, maxTokens: 60, format: { grammar: 'root ::= ("the" " "?)+ [a-c]{4}' } };
    const plain = await generated(letters, options, prompt);
    assert.deepEqual(shown(await generated(letters, { ...options, promptLookup: 8 }, prompt)), shown(plain));
    assert.match(plain.text, /^[the abc]*$/);
  }
});

test("a Worker gives the same text and the same errors", async () => {
  const worker = await loadWorker({ build });
  try {
    const there = await worker.model(tinyModel("rwkv7"));
    for (const format of [{ regex: /[a-f]{3,9}/ }, { schema: { enum: ["a", 5, null] } }, { choices: ["x", "y"] }])
      assert.deepEqual(
        shown(await generated(there, { format, seed: 3 })),
        shown(await generated(model, { format, seed: 3 })),
      );
    await refuses(
      generated(there, { format: { schema: { uniqueItems: true } } }),
      "format.schema.uniqueItems",
      /needs items with enum/,
    );
  } finally {
    await worker.dispose();
  }
});

test("errors come before the first token, and leave the session as it was", async () => {
  const session = model.session();
  await session.append("a b");
  const length = session.length;
  const refused = async (options, field, message) => {
    await refuses(session.generate(options).next(), field, message);
    assert.equal(session.length, length);
  };
  await refused({ format: "xml" }, "format", /must be "json"/);
  await refused({ format: { regex: "(" } }, "format.regex", /can't be generated/);
  await refused({ format: "json", ignoreEnd: true }, "ignoreEnd", /format/);
  const cyclic = {};
  cyclic.schema = cyclic;
  await refused({ format: cyclic }, "format", /must be JSON/);
  session.dispose();
  const other = letters.session();
  await other.append("the cat");
  await refuses(other.generate({ format: { regex: "[0-9]" } }).next(), "format", /vocabulary/);
  other.dispose();
});
