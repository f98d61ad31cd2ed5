// `ropewalk decide`: questions from options and from a file have the probabilities of model.decide(), as bars and as JSON in their order.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { load } from "ropewalk";
import { tinyModelBytes } from "../../examples/make_tiny_model.mjs";
import { ropewalk, withFolder } from "./program.mjs";

const withModel = (use) =>
  withFolder(async (folder) => {
    const path = join(folder, "tiny.gguf");
    await writeFile(path, tinyModelBytes());
    const rw = await load({ threads: 1 });
    const model = await rw.model(path);
    await use({ folder, path, model });
    model.dispose();
  });

test("a choice from options, as bars and as JSON, from an argument and from stdin", () =>
  withModel(async ({ path, model }) => {
    const words = ["--question", "What?", "--choice", "9=a rope", "--choice", "1", "--permutations", "2"];
    const question = {
      type: "choice",
      instructions: "What?",
      criteria: [
        ["9", "a rope"],
        ["1", null],
      ],
    };
    const { answers, usage } = await model.decide("the sea", [["answer", question]], { permutations: 2 });
    const { status, stdout } = await ropewalk(["decide", path, "--state", "the sea", ...words, "--json"]);
    assert.equal(status, 0);
    assert.deepEqual(JSON.parse(stdout), { model: "tiny.gguf", answers, usage });
    assert.ok(stdout.indexOf('"9":') < stdout.indexOf('"1":'), stdout);
    const piped = await ropewalk(["decide", path, "--state", "-", ...words], { input: "the sea\n" });
    const lines = piped.stdout.trimEnd().split("\n");
    assert.match(lines[0], /^answer: [91] {2}confidence 0\.\d{3}, label mass 0\.\d{3}$/);
    assert.match(lines[1], /^ {2}9 {2}█+·+ {2}0\.\d{3}$/);
    assert.equal(lines.length, 3);
  }));

test("several questions from a file, about JSON", () =>
  withModel(async ({ folder, path, model }) => {
    const questions = {
      size: { type: "score", criteria: ["small", "large"] },
      wet: { type: "noul", instructions: "Wet?" },
    };
    const files = ["state.json", "questions.json"].map((name) => join(folder, name));
    await writeFile(files[0], '{"b": 1, "10": [true]}');
    await writeFile(files[1], JSON.stringify(questions));
    const words = ["decide", path, "--state-file", files[0], "--questions", files[1]];
    const state = new Map([
      ["b", 1],
      ["10", [true]],
    ]);
    const { answers, usage } = await model.decide(state, questions);
    assert.deepEqual(JSON.parse((await ropewalk([...words, "--json"])).stdout), { model: "tiny.gguf", answers, usage });
    assert.match(
      (await ropewalk(words)).stdout,
      /^size: \d\.\d{3} .*\n {2}0 small .*\n {2}1 large .*\nwet: 0\.\d{3} .*\n {2}yes .*\n {2}no /,
    );
  }));

test("what is missing or doesn't fit", () =>
  withModel(async ({ path }) => {
    for (const [words, message] of [
      [[], /--question: is missing/],
      [["--question", "a"], /--state: is missing/],
      [["--state", "a", "--choice", "a", "--level", "b"], /--level: can't be used with --choice/],
      [["--state", "a", "--choice", "a"], /^error: --choice: must have 2 to 255 options \(got 1\)/m],
      [["--state", "a", "--level", "a"], /^error: --level: must have 2 to 10 levels \(got 1\)/m],
      [
        ["--state", "a", "--question", "b", "--kv", "q4_0"],
        /^warning: a cache of q4_0 changes what a model says; use q8_0/m,
      ],
    ])
      assert.match((await ropewalk(["decide", path, ...words])).stderr, message);
  }));
