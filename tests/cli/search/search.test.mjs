// `ropewalk search`: its files, a search that goes on, and errors.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { checkWarning, windowWarning } from "../../../build/package/apps/cli/search/judge_result.js";
import { searchTexts } from "../../../examples/small_model/search_texts.mjs";
import { ropewalk, withFolder } from "../program.mjs";

const small = fileURLToPath(new URL("../../../examples/small_model/", import.meta.url));
const LENGTH = 300;

const withTexts = (use) =>
  withFolder(async (folder) => {
    const path = join(folder, "texts.jsonl");
    await writeFile(path, searchTexts(LENGTH, 1).map((text) => `${JSON.stringify(text)}\n`).join("")); // prettier-ignore
    await use(folder, path);
  });

const search = (...words) => ropewalk(["search", small, "--length", String(LENGTH), "--threads", "1", ...words]);

test("the config is read by the package, and a search that was interrupted gives the same", () =>
  withTexts(async (folder, texts) => {
    const [output, state] = [join(folder, "longrope.json"), join(folder, "state.jsonl")];
    const words = ["--texts", texts, "--check-texts", texts, "--evaluations", "12", "--state", state, "-o", output];
    const first = await search(...words, "--json");
    assert.equal(first.status, 0, first.stderr);
    const result = JSON.parse(first.stdout);
    assert.deepEqual([result.evaluations, result.ended, result.output], [12, "evaluations", output]);
    assert.deepEqual(result.compared.map(({ name }) => name), ["found", "none", "linear", "ntk", "yarn", "dynamic_yarn"]); // prettier-ignore
    const written = await readFile(output, "utf8");
    assert.deepEqual(JSON.parse(written), result.rope);
    const model = await (await load()).model(small, { rope: JSON.parse(written), contextLength: LENGTH });
    assert.equal(model.rope.rope_scaling.rope_type, "longrope");
    assert.equal(model.rope.max_position_embeddings, LENGTH);
    model.dispose();

    // as if the program had ended while it wrote a line
    const lines = (await readFile(state, "utf8")).split("\n");
    assert.equal(lines.length, 14);
    await writeFile(state, `${lines.slice(0, 9).join("\n")}\n${lines[9].slice(0, 40)}`);
    const again = await search(...words);
    assert.equal(again.status, 0, again.stderr);
    assert.match(again.stderr, /going on after 8 candidates/);
    assert.match(again.stdout, /^scaling +loss \(nats\) +answers in other texts +right\n/);
    assert.match(again.stdout, /\nfound +\d\.\d{4} +\d\.\d{4} +[\d.]+ %\n/);
    assert.match(again.stdout, /longrope\.json: longrope, 12 candidates, \d+ of them given up early\n$/);
    assert.equal(await readFile(output, "utf8"), written);
    assert.equal(await readFile(state, "utf8"), lines.join("\n"));

    const other = await search(...words, "--seed", "2");
    assert.equal(other.status, 2);
    assert.match(other.stderr, /--state: .*state\.jsonl isn't of this search; give the same model/);
    await writeFile(state, [lines[0], "{", ""].join("\n"));
    assert.match((await search(...words)).stderr, /state\.jsonl: line 2 is damaged/);
    await writeFile(state, "notes");
    assert.match((await search(...words)).stderr, /state\.jsonl isn't the state of a search/);
    assert.equal(await readFile(state, "utf8"), "notes");
  }));

test("--whole-config keeps the other keys, and the model opens with it alone", () =>
  withTexts(async (folder, texts) => {
    const output = join(folder, "config.json");
    const { status, stderr, stdout } = await search("--texts", texts, "--time", "1s", "--evaluations", "10", "--whole-config", "-o", output); // prettier-ignore
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^scaling +loss \(nats\)\n/);
    const [own, written] = [JSON.parse(await readFile(join(small, "config.json"))), JSON.parse(await readFile(output))];
    const { rope_parameters, max_position_embeddings, ...others } = written;
    const { rope_parameters: _, max_position_embeddings: __, ...ownOthers } = own;
    assert.deepEqual(others, ownOthers);
    assert.equal(max_position_embeddings, LENGTH);
    assert.deepEqual([rope_parameters.rope_theta, rope_parameters.rope_type], [10000, "longrope"]);
    for (const name of ["model.safetensors", "tokenizer.json"]) await cp(join(small, name), join(folder, name));
    const model = await (await load()).model(folder);
    assert.deepEqual(model.rope.rope_scaling.long_factor, rope_parameters.long_factor);
    model.dispose();
  }));

test("a model that doesn't find hidden numbers in its window is named before the search, and Ctrl-C says what is kept", () =>
  withFolder(async (folder) => {
    const [output, state] = ["out.json", "state.jsonl"].map((name) => join(folder, name));
    const words = ["search", small, "--length", "800", "--threads", "1", "--count", "1", "-o", output];
    const kept = /interrupted: .*state\.jsonl keeps [1-9]\d* candidates; the same command goes on\n$/;
    for (const [more, message] of [
      [["--state", state], kept],
      [[], /interrupted: nothing is kept; --state keeps candidates in a file\n$/],
    ]) {
      const running = ropewalk([...words, ...more]);
      const hasBegun = () =>
        more.length === 0 ? true : existsSync(state) && readFileSync(state, "utf8").split("\n").length > 3;
      await running.said(/warning: inside its window of 256 tokens the model gets only 0 % of hidden numbers right: the result means nothing; pass --texts/); // prettier-ignore
      while (!hasBegun()) await setTimeout(20);
      running.interrupt();
      const { status, stderr } = await running;
      assert.equal(status, 130, stderr);
      assert.match(stderr, message);
    }
  }));

test("a result that other texts don't confirm is named", () => {
  const compared = (losses) =>
    ["found", "none", "linear", "ntk", "yarn", "dynamic_yarn"].map((name, i) => ({
      name,
      ...(losses && { checked: { loss: losses[i], right: 1 } }),
    }));
  assert.equal(checkWarning(compared()), undefined);
  assert.equal(checkWarning(compared([0.1, 4, 3, 0.2, 0.1, 0.3])), undefined);
  assert.match(
    checkWarning(compared([0.2026, 4, 3, 0.1877, 0.2, 0.1])),
    /dynamic_yarn is better .*\(0\.1000 against 0\.2026\): .*fitted.*--count/,
  );
  assert.match(
    checkWarning(compared([0.2, 0.15, 3, 1, 1, 1])),
    /none is better .*\(0\.1500 against 0\.2000\), which needs no search/,
  );
  assert.match(
    windowWarning({ window: 64, right: undefined }),
    /no hidden number and its question fit into the model's window of 64 tokens/,
  );
  assert.equal(windowWarning({ window: 2048, right: 0.9 }), undefined);
});

test("wrong usage is refused before anything is searched", () =>
  withTexts(async (folder, texts) => {
    const output = ["-o", join(folder, "out.json")];
    const cases = [
      [["--texts", texts], 2, /required option '-o, --output <file>'/],
      [["--texts", texts, "--count", "3", ...output], 2, /--count: can't be combined with --texts/],
      [["--texts", texts, "--text", texts, ...output], 2, /--text: can't be combined with --texts/],
      [["--check-texts", texts, ...output], 2, /--check-texts: needs --texts/],
      [["--time", "5 days", ...output], 2, /--time.*Must be a number above 0 with s, m or h/],
      [["--evaluations", "9", ...output], 2, /--evaluations.*from 10 to 100000/],
      [["--other-tokens", "2", ...output], 2, /--other-tokens.*from 0 to 1/],
      [["--texts", texts, "-o", texts], 2, /--output: is an input file/],
      [["--texts", texts, "--state", texts, ...output], 2, /--state: is an input file/],
      [["--texts", join(folder, "none"), ...output], 1, /none: no such file/],
      [["--texts", texts, "--trained-length", "512", ...output], 2, /--length: must be above the trained length, 512/],
      [
        ["--needles", "20", ...output],
        2,
        /--length: is too short for the numbers and questions, which have \d+ tokens \(got 300\); use fewer --needles, or your own --texts/,
      ],
    ];
    for (const [words, status, message] of cases) {
      const result = await search(...words);
      assert.match(result.stderr, message, words.join(" "));
      assert.equal(result.status, status, words.join(" "));
    }
    await writeFile(texts, '["a",\n');
    assert.match((await search("--texts", texts, ...output)).stderr, /texts\.jsonl: line 1 isn't valid JSON/);
    const gguf = ["search", join(small, "model.q8_0.gguf"), "--length", "512", "--whole-config", ...output];
    assert.match((await ropewalk(gguf)).stderr, /--whole-config: needs a model in a folder/);
  }));
