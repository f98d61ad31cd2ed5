// Runs the examples with models as a user does: with their generated model, and with files.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { load } from "ropewalk";
import { answersIn, words } from "../../examples/small_model/stories.mjs";
import { capture } from "../../scripts/run.mjs";

const root = join(import.meta.dirname, "..", "..");
const example = (name) => join(root, "examples", name);
const runExample = (name, ...args) => capture(process.execPath, [example(name), ...args]);
const tinyModel = (...name) => join(root, "tests", "golden", "tiny_models", ...name);

let folder, made;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "ropewalk-example-"));
  made = join(folder, "tiny.gguf");
});

after(() => rm(folder, { recursive: true, force: true }));

test("make_tiny_model.mjs writes a model with a tokenizer and a chat template", async () => {
  assert.match(
    await runExample("make_tiny_model.mjs", made),
    /tiny\.gguf: \d+ bytes, \d+ tokens\. It generates nonsense\./,
  );
  const model = await (await load()).model(made);
  const text = "The old rope walk, 12 fathoms…";
  assert.equal(model.tokenizer.decode(model.tokenizer.encode(text)), text);
  assert.equal(model.tokenizer.encode(" rope walk").length, 2);
  const chat = [{ role: "user", content: "What is hemp?" }];
  assert.equal(await model.renderChat(chat), "<|im_start|>user\nWhat is hemp?<|im_end|>\n<|im_start|>assistant\n");
  model.dispose();
});

describe("generate.mjs", () => {
  const figuresIn = (output) => {
    const [, read, count, finish] =
      /^(\d+) tokens read \([\d,.]+ tokens\/s\), (\d+) generated \([\d,.]+ tokens\/s\), finish reason "(\w+)"$/m.exec(
        output,
      );
    const [, used, length] = /^Context: (\d+) of (\d+) tokens, [\d.]+ [KM]B of keys and values$/m.exec(output);
    return { read: Number(read), count: Number(count), finish, used: Number(used), length: Number(length) };
  };

  test("generates a story with the small model, whose answers match earlier facts", async () => {
    const output = await runExample("generate.mjs");
    assert.match(output, /^RoPE: plain, base 10,000$/m);
    assert.deepEqual(figuresIn(output), { read: 9, count: 200, finish: "length", used: 209, length: 256 });
    const [story] = /^The red ball is in the garden\..*$/m.exec(output);
    assert.equal(words(story).length, 8 + 200);
    const answers = answersIn(story);
    for (const { at, isRight } of answers) assert.ok(isRight, `word ${at}`);
    assert.ok(answers.length > 3);
  });

  test("stops at the end token", async () => {
    const { read, count, finish, used, length } = figuresIn(
      await runExample("generate.mjs", made, "The old rope walk lies"),
    );
    assert.deepEqual({ read, length, finish }, { read: 8, length: 256, finish: "end" });
    assert.equal(used, read + count - 1); // the end token is not appended to the context
  });

  test("accepts a folder and a prompt, and prints its RoPE", async () => {
    const output = await runExample("generate.mjs", tinyModel("llama3"), "the");
    assert.match(output, /^RoPE: llama3, base [\d,]+, factor \d+$/m);
    const { count, finish } = figuresIn(output);
    assert.ok(finish === "end" || count === 200, `${count} ${finish}`);
  });

  test("reports what is wrong with an invalid file", async () => {
    await assert.rejects(runExample("generate.mjs", example("generate.mjs")), /RopewalkError: generate\.mjs: /);
  });
});

describe("chat.mjs", () => {
  /** Holds a conversation: writes the next line when the program prompts for it. */
  async function chat(lines, ...args) {
    const program = spawn(process.execPath, [example("chat.mjs"), ...args], { timeout: 20_000 });
    let output = "";
    const waiting = [...lines];
    for (const stream of [program.stdout, program.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
        if (text.endsWith("> ") && waiting.length > 0) program.stdin.write(`${waiting.shift()}\n`);
      });
    }
    const code = await new Promise((resolve) => program.on("close", resolve));
    return { code, output };
  }

  test("answers each message in one context, which it extends if needed", async () => {
    const long = "And the quay? ".repeat(30);
    const { code, output } = await chat(["Where is the rope walk?", long, ""], made);
    assert.equal(code, 0, output);
    const answers = [
      ...output.matchAll(/^ {2}\([\d,.]+ tokens\/s after [\d.]+ s; (\d+) of (\d+) tokens; RoPE (.*)\)$/gm),
    ];
    assert.equal(answers.length, 2, output);
    const [first, second] = answers.map(([, used, length, rope]) => ({
      used: Number(used),
      length: Number(length),
      rope,
    }));
    assert.ok(first.used > 0 && second.used > first.used, output);
    for (const { used, length, rope } of [first, second]) {
      const factor = length / 256;
      assert.deepEqual(
        { fits: used <= length, rope },
        { fits: true, rope: factor === 1 ? "plain, base 10,000" : `yarn, base 10,000, factor ${factor}` },
      );
    }
    assert.ok(second.length > 256, output); // the message alone is longer
  });

  test("reports that a model has no chat template, and continues", async () => {
    const { code, output } = await chat(["the", ""], tinyModel("llama", "model.gguf"));
    assert.equal(code, 0);
    assert.match(output, /model\.gguf: chat_template: the model has no chat template/);
  });
});
