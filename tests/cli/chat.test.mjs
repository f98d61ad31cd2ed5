// `ropewalk chat` with input from a pipe: each line is a message, or a command if it begins with a slash.
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { tinyModelBytes } from "../../examples/make_tiny_model.mjs";
import { ropewalk, withFolder } from "./program.mjs";

const withTinyModel = (use) =>
  withFolder(async (folder) => {
    const path = join(folder, "tiny.gguf");
    await writeFile(path, tinyModelBytes());
    await use(path, folder);
  });

const lines = (...said) => ({ input: said.map((line) => `${line}\n`).join("") });
const settings = ["--seed", "3", "-n", "12"];
const chat = async (path, said, ...words) =>
  JSON.parse((await ropewalk(["chat", path, ...settings, "--json", ...words], lines(...said))).stdout);

/** The answer of the package itself, which reads all messages again. */
async function answerTo(path, messages) {
  const rw = await load();
  const model = await rw.model(path);
  try {
    let text = "";
    for await (const piece of model.generate(messages, { seed: 3, maxTokens: 12 })) text += piece.text;
    return text;
  } finally {
    model.dispose();
  }
}

test("answers go to stdout, one per line, and empty lines are ignored", () =>
  withTinyModel(async (path) => {
    const { status, stdout, stderr } = await ropewalk(
      ["chat", path, ...settings],
      lines("the rope", "", "and the sea"),
    );
    const first = await answerTo(path, [{ role: "user", content: "the rope" }]);
    const second = await answerTo(path, [
      { role: "user", content: "the rope" },
      { role: "assistant", content: first },
      { role: "user", content: "and the sea" },
    ]);
    assert.equal(stdout, `${first}\n${second}\n`);
    assert.deepEqual([status, stderr], [0, ""]);
  }));

test("--json prints the messages, the answers and how much was read for each", () =>
  withTinyModel(async (path) => {
    const { model, messages, answers, context } = await chat(
      path,
      ["the rope", "the sea", "/exit", "not said"],
      "--system",
      "the old captain",
    );
    assert.equal(model, "tiny.gguf");
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["system", "user", "assistant", "user", "assistant"],
    );
    assert.deepEqual(
      messages.filter(({ role }) => role === "assistant").map(({ content }) => content),
      answers.map(({ text }) => text),
    );
    assert.equal(answers[0].text, await answerTo(path, messages.slice(0, 2)));
    // the first answer isn't read again for the second
    assert.ok(answers[1].prompt.tokens < context.tokens - answers[0].prompt.tokens);
    assert.equal(context.length, 256);
  }));

test("/retune to a position map needs --kv-keys raw, keeps the context, and ends with a scaling that is named alone", () =>
  withTinyModel(async (path) => {
    const refused = await ropewalk(["chat", path, ...settings], lines("/retune rerope:64"));
    assert.match(refused.stderr, /needs raw keys, and this session's are rotated; pass --kv-keys raw/);
    const { stderr } = await ropewalk(
      ["chat", path, ...settings, "--kv-keys", "raw"],
      lines("/retune rerope:64", "/retune yarn:2+rerope:64", "/retune none"),
    );
    assert.deepEqual(
      [...stderr.matchAll(/^RoPE (.*); context (\d+)$/gm)].map(([, rope, length]) => [rope, length]),
      [
        ["plain, base 10,000, position map rerope, window 64", "256"],
        ["yarn, base 10,000, factor 2, position map rerope, window 64", "256"],
        ["plain, base 10,000", "256"],
      ],
    );
  }));

test("/info, /retune, /save, /reset and /load report on stderr", () =>
  withTinyModel(async (path, folder) => {
    const file = join(folder, "kept chat");
    const { status, stdout, stderr } = await ropewalk(
      ["chat", path, ...settings],
      lines(
        "the rope",
        "/retune yarn:4",
        "/info",
        `/save ${file}`,
        "/reset",
        "/retune none",
        `/load ${file}`,
        "/info",
        "and the sea",
      ),
    );
    assert.equal(status, 0);
    assert.match(stderr, /^RoPE yarn, base 10,000, factor 4; context 1024$/m);
    assert.match(stderr, /^All messages removed\.$/m);
    assert.match(stderr, /^RoPE plain, base 10,000; context 256$/m);
    const short = await ropewalk(
      ["chat", path, ...settings, "--context", "64"],
      lines("/retune yarn:4", "/retune linear:2", "/retune none"),
    );
    assert.deepEqual(
      [...short.stderr.matchAll(/; context (\d+)$/gm)].map(([, length]) => length),
      ["256", "128", "64"],
    );
    const informed = [
      ...stderr.matchAll(
        /^tiny\.gguf: llama.*\n(RoPE yarn, base 10,000, factor 4; trained length 256)\n(Context \d+ of 1024 tokens, .*; 2 messages)$/gm,
      ),
    ];
    assert.equal(informed.length, 2);
    assert.deepEqual(informed[0].slice(1), informed[1].slice(1)); // the same before saving and after loading
    assert.deepEqual((await readdir(folder)).sort(), ["kept chat", "tiny.gguf"]); // no temporary file is left
    // the context is as long again in another process
    const reloaded = await ropewalk(["chat", path, ...settings], lines(`/load ${file}`, "/info"));
    assert.match(reloaded.stderr, /^Context \d+ of 1024 tokens/m);
    // a loaded chat continues like an uninterrupted one
    const unbroken = await ropewalk(["chat", path, ...settings], lines("the rope", "/retune yarn:4", "and the sea"));
    assert.equal(stdout, unbroken.stdout);
  }));

test("a broken template is an error before the first message", () =>
  withTinyModel(async (path, folder) => {
    const template = join(folder, "broken.jinja");
    await writeFile(template, "{% if messages %}a");
    const { status, stderr } = await ropewalk(["chat", path, "--chat-template", template], lines());
    assert.equal(status, 2);
    assert.match(stderr, /^error: --chat-template: the template cannot be parsed/m);
  }));

test("a full context: the oldest messages are removed, the RoPE is extended, or the chat stops", () =>
  withTinyModel(async (path) => {
    const said = Array.from({ length: 5 }, (_, i) => `the rope and the sea and the ship and the sun and the wind ${i}`);
    const shifted = await chat(path, said, "--context", "100", "--when-full", "shift", "--system", "the captain");
    assert.equal(shifted.context.length, 100);
    assert.ok(shifted.answers.some(({ removed }) => removed === 2));
    assert.equal(shifted.messages[0].role, "system");
    assert.ok(shifted.messages.length < 11);
    const extended = await chat(path, said, "--context", "100", "--when-full", "extend");
    assert.ok(extended.context.length >= 200);
    assert.equal(extended.messages.length, 10);
    const stopped = await ropewalk(
      ["chat", path, ...settings, "--context", "100", "--when-full", "stop"],
      lines(...said),
    );
    assert.match(
      stopped.stderr,
      /^error: chat: has \d+ tokens, but the context length is 100; type \/reset, or \/retune yarn:2 to make room \(CACHE_FULL\)$/m,
    );
    assert.equal(stopped.status, 1);
    assert.ok(stopped.stdout.split("\n").length > 1); // earlier answers are still printed
  }));

test("Ctrl-C ends a chat with input from a pipe", () =>
  withTinyModel(async (path) => {
    const said = Array.from({ length: 2000 }, () => "the rope");
    const { status, stdout } = await ropewalk(["chat", path, "--when-full", "shift"], {
      ...lines(...said),
      until: (printed) => printed.split("\n").length > 2,
    });
    assert.equal(status, 130);
    assert.ok(stdout.split("\n").length < 2000);
  }));

test("/save overwrites a saved chat, but no other file", () =>
  withTinyModel(async (path, folder) => {
    const [file, empty] = [join(folder, "chat"), join(folder, "empty")];
    await writeFile(empty, "");
    const twice = await ropewalk(
      ["chat", path, ...settings],
      lines("the rope", `/save ${file}`, "/reset", `/save ${file}`, `/load ${file}`),
    );
    assert.deepEqual([twice.status, twice.stderr.trim().split("\n").at(-1)], [0, `${file}: 0 messages, 0 tokens`]);
    for (const other of [path, empty]) {
      const before = await readFile(other);
      const { status, stderr } = await ropewalk(["chat", path, ...settings], lines("the rope", `/save ${other}`));
      assert.equal(
        stderr.replace(other, "FILE").trim(),
        "error: /save: FILE exists and isn't a chat saved with /save; name another file (INVALID_ARGUMENT)",
      );
      assert.equal(status, 2);
      assert.deepEqual(await readFile(other), before);
    }
    assert.deepEqual((await readdir(folder)).sort(), ["chat", "empty", "tiny.gguf"]);
  }));

test("/load rejects other files, and chats with another model", () =>
  withTinyModel(async (path, folder) => {
    const file = join(folder, "chat");
    await ropewalk(["chat", path, ...settings], lines("the rope", `/save ${file}`));
    const saved = await readFile(file);
    const load = async (bytes) => {
      await writeFile(file, bytes);
      const { status, stderr } = await ropewalk(["chat", path], lines(`/load ${file}`));
      return [status, stderr.replaceAll(file, "FILE").trim()];
    };
    assert.deepEqual((await load(saved))[0], 0);
    assert.deepEqual(await load(tinyModelBytes()), [1, "error: FILE: isn't a chat saved with /save (INVALID_BYTES)"]);
    const damaged = Buffer.from(saved);
    damaged[damaged.length - 5] ^= 1;
    assert.equal((await load(damaged))[0], 1);
    assert.equal((await load(saved.subarray(0, -20)))[0], 1);
    const other = Buffer.from(saved.toString("latin1").replace('"tiny.gguf"', '"vast.gguf"'), "latin1");
    assert.deepEqual(await load(other), [
      2,
      "error: FILE: was saved with the model vast.gguf, but this chat uses tiny.gguf (INVALID_ARGUMENT)",
    ]);
  }));

for (const [name, said, status, message] of [
  ["an unknown command", "/foo", 2, /^error: \/foo: isn't a command; type \/help for a list/],
  ["/save without a file", "/save", 2, /^error: \/save: needs an argument, <file>/],
  ["/reset with an argument", "/reset now", 2, /^error: \/reset: takes no argument/],
  ["a scaling that does not exist", "/retune warp:4", 2, /^error: .*own, none or type:factor/],
  ["a scaling without a factor", "/retune yarn", 2, /^error: \/retune yarn: Needs a factor, for example yarn:4/],
  [
    "a file that cannot be written",
    "/save /nowhere/at/all",
    2,
    /^error: \/save: the folder \/nowhere\/at doesn't exist; make it, or name another file/,
  ],
  ["a missing file", "/load nowhere", 2, /^error: nowhere: no such file/],
]) {
  test(`refused: ${name}`, () =>
    withTinyModel(async (path) => {
      const { stderr, ...rest } = await ropewalk(["chat", path], lines(said, "the rope"));
      assert.match(stderr, message);
      assert.deepEqual(rest, { status, stdout: "" });
    }));
}

test("refused: a model without a chat template", async () => {
  const llama = fileURLToPath(new URL("../golden/tiny_models/llama", import.meta.url));
  const { status, stdout, stderr } = await ropewalk(["chat", llama], lines("the rope"));
  assert.match(
    stderr,
    /^error: model\.safetensors: chat_template: the model has no chat template; pass one with --chat-template, or use ropewalk generate \(UNSUPPORTED_MODEL\)/,
  );
  assert.deepEqual([status, stdout], [1, ""]);
});

test("--session goes on with the RoPE and the context length of the chat, unless options give others", () =>
  withTinyModel(async (path, folder) => {
    const file = join(folder, "talk.chat");
    const goOn = async (...words) => {
      const { rope, context } = await chat(path, ["and"], "--session", file, ...words);
      return [rope.rope_scaling.rope_type, rope.rope_theta, context.length];
    };
    assert.deepEqual(await goOn(), ["default", 10000, 256]);
    assert.deepEqual(await goOn("--rope-type", "yarn", "--factor", "4", "--context", "1024"), ["yarn", 10000, 1024]);
    assert.deepEqual(await goOn(), ["yarn", 10000, 1024]);
    assert.deepEqual(await goOn("--theta", "500"), ["default", 500, 1024]);
    const { status, stderr } = await ropewalk(["chat", path, "--session", file, "--context", "8"], lines("a"));
    assert.equal(status, 1);
    assert.match(stderr, /talk\.chat: the session has \d+ tokens, but the context length is 8; use a larger --context/);
  }));

test("--session continues a chat and saves it at the end", () =>
  withTinyModel(async (path, folder) => {
    const file = join(folder, "talk with  spaces.chat");
    const whole = await chat(path, ["the rope", "and the sea"]);
    await chat(path, ["the rope"], "--session", file);
    const rest = await chat(path, ["and the sea"], "--session", file);
    assert.deepEqual(rest.messages.slice(0, 3), whole.messages.slice(0, 3));
    assert.equal(rest.messages.length, 4);
    const third = await chat(path, ["again"], "--session", file);
    assert.deepEqual(third.messages.slice(0, 4), rest.messages);
    assert.ok(third.answers[0].prompt.tokens < third.context.tokens / 2);
    const { status, stderr } = await ropewalk(["chat", path, "--system", "Other.", "--session", file], lines("hi"));
    assert.equal(status, 2);
    assert.match(stderr, /--system: differs from that of the chat/);
    const other = await ropewalk(["chat", path, "--session", file, "--kv", "q8_0"], lines("hi"));
    assert.match(other.stderr, /talk with {2}spaces\.chat: the session has keys and values .*; start with --kv f16/);
  }));
