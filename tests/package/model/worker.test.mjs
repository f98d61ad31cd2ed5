// Models in a thread of Node, through ropewalk/worker: results are the same as in the main thread.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { load } from "ropewalk/worker";
import { build, rejects, rw as rwHere } from "../helpers/runtime.mjs";

const tinyModel = (name) => join(import.meta.dirname, "..", "..", "golden", "tiny_models", name, "model.gguf");
const LLAMA = tinyModel("llama");

let rw, model, modelHere;

before(async () => {
  rw = await load({ build });
  model = await rw.model(LLAMA);
  modelHere = await rwHere.model(LLAMA);
});

after(async () => {
  modelHere?.dispose();
  await rw?.dispose();
});

/** Collects all pieces. */
async function piecesOf(text) {
  const pieces = [];
  for await (const piece of text) pieces.push(piece);
  return pieces;
}

async function sessionThatRead(prompt, options) {
  const session = await model.session(options);
  await session.append(prompt);
  return session;
}

const thrownBy = (promise) =>
  promise.then(
    () => assert.fail("nothing was thrown"),
    (error) => error,
  );

describe("the same as in this thread", () => {
  test("the description of a model", async () => {
    assert.deepEqual(model.info, modelHere.info);
    assert.deepEqual(model.rope, modelHere.rope);
    assert.equal(model.chatTemplate, modelHere.chatTemplate);
    assert.deepEqual(await rw.modelInfo(LLAMA), model.info);
    assert.ok((await rw.memoryBytes) > model.info.memory.weights);
  });

  test("its tokenizer", async () => {
    const { tokenizer } = model;
    const tokens = await tokenizer.encode("the cat");
    assert.deepEqual(tokens, modelHere.tokenizer.encode("the cat"));
    assert.equal(await tokenizer.decode(tokens), "the cat");
    assert.equal(await tokenizer.token(63), "the");
    assert.equal(await tokenizer.idOf("the"), 63);
    assert.equal(await tokenizer.isSpecial(2), true);
    for (const fact of ["vocabularySize", "beginToken", "endTokens", "addsBegin"])
      assert.deepEqual(tokenizer[fact], modelHere.tokenizer[fact]);
  });

  test("a tokenizer without a model", async () => {
    const json = JSON.parse(await readFile(join(LLAMA, "..", "tokenizer.json"), "utf8"));
    assert.deepEqual(await (await rw.tokenizer(json)).encode("the cat"), modelHere.tokenizer.encode("the cat"));
    await rejects(rw.tokenizer({ "tokenizer.ggml.model": "plamo2" }), "UNSUPPORTED_MODEL", "tokenizer.ggml.model");
  });

  test("generated text for a seed", async () => {
    const options = { seed: 7, maxTokens: 40, ignoreEnd: true, logprobs: 2 };
    const here = await piecesOf(modelHere.generate("the cat", options));
    assert.deepEqual(await piecesOf(model.generate("the cat", options)), here);
    assert.equal(here.length, 40);
    const others = await piecesOf(model.generate("the cat", { ...options, seed: 8 }));
    assert.notDeepEqual(
      others.map(({ token }) => token),
      here.map(({ token }) => token),
    );
    assert.deepEqual(
      await piecesOf(model.generate(new Set([63, 60]), options)),
      await piecesOf(modelHere.generate([63, 60], options)),
    );
  });

  test("a session, call by call", async () => {
    const [there, here] = [await sessionThatRead("the cat"), modelHere.session()];
    await here.append("the cat");
    const compare = async () => {
      for (const fact of ["length", "contextLength", "bytes", "rope"]) assert.deepEqual(there[fact], here[fact], fact);
      assert.deepEqual(await there.tokens, here.tokens);
      assert.equal(await there.text, here.text);
      assert.deepEqual(await there.logits(), here.logits());
      assert.deepEqual(await there.logprobs(3), here.logprobs(3));
      assert.equal(await there.logprobOf(5), here.logprobOf(5));
      assert.deepEqual(await there.hidden(), here.hidden());
    };
    await compare();
    for (const [name, ...args] of [
      ["append", [4, 5, 6]],
      ["rewind", 6],
      ["shift", { keep: 1, discard: 2 }],
      ["extend"],
      ["retune", { rope_theta: 2000 }, { contextLength: 300 }],
    ]) {
      await Promise.all([there[name](...args), here[name](...args)]);
      await compare();
    }
    const bytes = await there.save();
    assert.deepEqual(bytes, here.save());
    const copy = await there.fork();
    await there.rewind(1);
    assert.equal(copy.length, here.length);
    assert.deepEqual(await copy.logits(), here.logits());
    await there.restore(bytes);
    await compare();
    assert.equal(bytes.length, here.save().length); // restore() copied the bytes
    for (const session of [there, here, copy]) await session.dispose();
  });

  test("perplexity with progress, and embeddings", async () => {
    const text = "the quick brown fox".repeat(6).replaceAll("q", "k");
    const reported = [];
    const options = { window: 32, stride: 16 };
    const measured = await model.perplexity(text, {
      ...options,
      onProgress: ({ done, total }) => reported.push(done / total),
    });
    assert.deepEqual(measured, await modelHere.perplexity(text, options));
    assert.ok(reported.length > 2 && reported.at(-1) === 1, `${reported}`);
    assert.deepEqual(await model.embed("the cat"), await modelHere.embed("the cat"));
  });
});

describe("sources of a model", () => {
  const facts = async (source, options) => {
    const opened = await rw.model(source, options);
    const text = (await piecesOf(opened.generate("the", { seed: 1, maxTokens: 5 }))).map(({ token }) => token);
    await opened.dispose();
    return { bytes: opened.info.memory.weights, text };
  };

  test("a path, a file URL, files, and bytes that are copied or transferred", async () => {
    const bytes = new Uint8Array(await readFile(LLAMA));
    const reference = await facts(LLAMA);
    assert.equal(reference.text.length, 5);
    assert.deepEqual(await facts(new URL(`file://${LLAMA}`)), reference);
    assert.deepEqual(await facts(new File([bytes], "tiny.gguf")), reference);
    assert.deepEqual(await facts([new File([bytes], "tiny.gguf")]), reference);
    assert.deepEqual(await facts(bytes), reference);
    assert.deepEqual(await facts(bytes.buffer), reference);
    assert.ok(bytes.length > 0);
    assert.deepEqual(await facts(bytes, { transfer: true }), reference);
    assert.equal(bytes.length, 0);
  });

  test("progress and warnings arrive", async () => {
    const reported = [];
    await (await rw.model(LLAMA, { onProgress: (progress) => reported.push(progress) })).dispose();
    assert.equal(reported[0].stage, "opening");
    const { stage, loaded, total } = reported.at(-1);
    assert.deepEqual({ stage, loaded }, { stage: "weights", loaded: total });
  });

  test("two models at the same time", async () => {
    const other = await rw.model(tinyModel("qwen3"));
    const options = { seed: 3, maxTokens: 20, ignoreEnd: true };
    const alone = [await piecesOf(model.generate("the", options)), await piecesOf(other.generate("the", options))];
    const together = await Promise.all([
      piecesOf(model.generate("the", options)),
      piecesOf(other.generate("the", options)),
    ]);
    assert.deepEqual(together, alone);
    assert.notDeepEqual(alone[0], alone[1]);
    await other.dispose();
  });
});

describe("aborting", () => {
  test("during generation, after which the session keeps its tokens", async () => {
    const session = await sessionThatRead("the cat");
    const before = session.length;
    const controller = new AbortController();
    const reason = new Error("enough");
    let count = 0;
    const thrown = await thrownBy(
      (async () => {
        for await (const { token } of session.generate({ signal: controller.signal, ignoreEnd: true })) {
          assert.ok(Number.isInteger(token));
          if (++count === 5) controller.abort(reason);
        }
      })(),
    );
    assert.equal(thrown, reason);
    assert.equal(count, 5);
    assert.equal(session.length, before + 5); // the Worker never runs ahead
    const more = await piecesOf(session.generate({ maxTokens: 3, ignoreEnd: true }));
    assert.equal(more.length, 3);
    await session.dispose();
  });

  test("while the Worker is busy", async () => {
    const session = await model.session({ contextLength: 100_000 });
    const controller = new AbortController();
    const reported = [];
    const reading = session.append(new Array(90_000).fill(5), {
      signal: controller.signal,
      onProgress: ({ done }) => {
        reported.push(done);
        controller.abort();
      },
    });
    assert.equal((await thrownBy(reading)).name, "AbortError");
    assert.ok(reported.length > 0 && session.length > 0 && session.length < 90_000, `${session.length} tokens read`);
    assert.equal((await session.tokens).length, session.length);
    assert.equal((await piecesOf(session.generate({ maxTokens: 2, ignoreEnd: true }))).length, 2);
    await session.dispose();
  });

  test("by leaving the loop", async () => {
    const session = await sessionThatRead("the cat");
    const before = session.length;
    for await (const piece of session.generate({ ignoreEnd: true })) if (piece !== undefined) break;
    assert.equal(session.length, before + 1);
    await session.append("the");
    assert.equal(session.length, before + 2);
    await session.dispose();
  });

  test("before the call", async () => {
    const signal = AbortSignal.abort(new Error("never"));
    for (const call of [
      () => load({ signal }),
      () => rw.model(LLAMA, { signal }),
      () => model.embed("the", { signal }),
    ]) {
      assert.equal((await thrownBy(call())).message, "never");
    }
  });

  /** Aborts at the first or the last progress event. The last one can cross the Worker's reply. */
  const aborting = (isLate) => {
    const controller = new AbortController();
    const onProgress = ({ stage = "", loaded, done = loaded, total }) => {
      if (!isLate || (stage !== "opening" && done === total)) controller.abort(new Error("changed my mind"));
    };
    return { signal: controller.signal, onProgress };
  };

  for (const isLate of [false, true]) {
    test(`while a model loads, ${isLate ? "at the end" : "at the beginning"}, which frees its memory`, async () => {
      const giveUp = async () =>
        assert.equal((await thrownBy(rw.model(LLAMA, aborting(isLate)))).message, "changed my mind");
      await giveUp();
      const memory = await rw.memoryBytes;
      for (let i = 0; i < 40; i++) await giveUp();
      assert.equal(await rw.memoryBytes, memory);
    });
  }

  test("after the last batch, when the session has all tokens", async () => {
    const session = await sessionThatRead("the");
    const before = session.length;
    assert.equal((await thrownBy(session.append([5, 6, 7], aborting(true)))).message, "changed my mind");
    assert.equal(session.length, before + 3);
    assert.equal((await thrownBy(model.perplexity("the cat the cat", aborting(true)))).message, "changed my mind");
    await session.dispose();
  });
});

describe("errors", () => {
  test("have code and field", async () => {
    const session = await sessionThatRead("the cat", { contextLength: 16 });
    await rejects(session.append(new Array(20).fill(5)), "CACHE_FULL", "tokens");
    const { message } = await thrownBy(session.append(new Array(20).fill(5)));
    assert.match(message, /^tokens: 20 more tokens don't fit: 5 of 16 are used/);
    await rejects(session.append([64]), "INVALID_ARGUMENT", "tokens[0]");
    await rejects(session.retune({ rope_thetaa: 1 }), "UNKNOWN_KEY", "rope.rope_thetaa");
    await rejects(session.restore(new Uint8Array(3)), "INVALID_BYTES", "bytes");
    await rejects(piecesOf(session.generate({ topP: 2 })), "INVALID_ARGUMENT", "topP");
    await rejects(
      model.renderChat([{ role: "user", content: "hello" }]),
      "UNSUPPORTED_MODEL",
      "model.gguf: chat_template",
    );
    await rejects(rw.model(`${LLAMA}.none`), "INVALID_FILE", "model.gguf.none: file");
    await rejects(rw.model(42), "INVALID_ARGUMENT", "source");
    await rejects(rw.model(LLAMA, { tokenizer: { tokenizer: { model: () => 1 } } }), "INVALID_ARGUMENT", "options");
    await rejects(load({ build: "fast" }), "INVALID_ARGUMENT", "build");
    await rejects(load({ wasm: new Uint8Array(8) }), "WASM_LOAD", "wasm");
    await session.dispose();
  });

  test("are those of this thread, whatever the argument", async () => {
    const session = await sessionThatRead("the cat");
    const here = modelHere.session();
    await here.append("the cat");
    const wrong = [undefined, null, 5, {}, "a", [1.5], [64], new Uint8Array(3), { context: 3 }];
    const calls = {
      decode: (one, value) => one.model.tokenizer.decode(value),
      encode: (one, value) => value !== "a" && one.model.tokenizer.encode(value),
      token: (one, value) => value !== 5 && one.model.tokenizer.token(value),
      idOf: (one, value) => value !== "a" && one.model.tokenizer.idOf(value),
      restore: (one, value) => one.session.restore(value),
      rewind: (one, value) => value !== 5 && one.session.rewind(value),
      fork: (one, value) => value !== undefined && one.session.fork(value),
      extend: (one, value) => value !== undefined && one.session.extend(value),
      shift: (one, value) => one.session.shift(value),
      retune: (one, value) => one.session.retune(value),
      logprobOf: (one, value) => value !== 5 && one.session.logprobOf(value),
      tokenizer: (one, value) => one.rw.tokenizer(value),
      deleteCachedModel: (one, value) => one.rw.deleteCachedModel(value),
    };
    for (const [name, call] of Object.entries(calls)) {
      for (const value of wrong) {
        const results = [];
        for (const one of [
          { rw, model, session },
          { rw: rwHere, model: modelHere, session: here },
        ])
          results.push(
            await (async () => call(one, value))().then(
              () => "success",
              ({ name, code, field, message }) => `${name} ${code} ${field} ${message}`,
            ),
          );
        assert.equal(results[0], results[1], `${name}(${JSON.stringify(value)})`);
      }
    }
    here.dispose();
    await session.dispose();
  });

  test("a fork with a context length of its own", async () => {
    const session = await sessionThatRead("the cat");
    const fork = await session.fork({ contextLength: 6 });
    assert.equal(fork.contextLength, 6);
    await fork.extend({ contextLength: 300 });
    assert.equal(fork.contextLength, 300);
    await rejects(session.fork({ contextLength: 2 }), "INVALID_ARGUMENT", "contextLength");
    await Promise.all([fork.dispose(), session.dispose()]);
  });

  test("after dispose()", async () => {
    const session = await sessionThatRead("the cat");
    await session.dispose();
    await session.dispose();
    await rejects(session.logits(), "DISPOSED", "session");
    await rejects(piecesOf(session.generate()), "DISPOSED", "session");
    const other = await rw.model(LLAMA);
    await other.dispose();
    await rejects(other.session(), "DISPOSED", "model");
  });

  test("of pending calls when the Worker ends", async () => {
    const ended = await load({ build });
    const session = await (await ended.model(LLAMA)).session({ contextLength: 8192 });
    const reading = session.append(new Array(8000).fill(5));
    await ended.dispose();
    await rejects(reading, "DISPOSED", "worker");
    await rejects(ended.memoryBytes, "DISPOSED", "worker");
    await session.dispose();
  });

  test("what is being disposed of when the Worker ends", async () => {
    const ended = await load({ build });
    const ownModel = await ended.model(LLAMA);
    const session = await ownModel.session();
    await Promise.all([session.dispose(), ownModel.dispose(), ended.dispose()]);
  });

  test("a prompt of several that is of another type, and an address of no file, are named", async () => {
    for (const wrong of [5, {}, null])
      await rejects(model.generateMany([[5], [6], wrong]).next(), "INVALID_ARGUMENT", "prompts[2]");
    const session = await model.session();
    await rejects(session.keep(new URL("https://example.org/a")), "INVALID_ARGUMENT", "name");
    await session.dispose();
  });
});

test("an idle thread lets the process end, and a pending call keeps it alive", async () => {
  const program = `
    import { load } from "ropewalk/worker";
    const model = await (await load({ build: ${JSON.stringify(build)} })).model(${JSON.stringify(LLAMA)});
    model.embed("the cat").then(({ length }) => console.log(length));`;
  const flags = [
    ...process.execArgv.filter((flag) => !flag.startsWith("--test")),
    "--input-type=module",
    "--eval",
    program,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: import.meta.dirname, timeout: 20_000 });
  assert.equal(stdout, "32\n");
});
