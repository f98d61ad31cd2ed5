// The evaluation of the small model: runs a short one, and compares the committed results with the package.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parseHTML } from "linkedom";
import { load } from "ropewalk/worker";
import { drawLossByPosition, drawRecallByDistance } from "../../examples/small_model/charts.mjs";
import { FULL, measure } from "../../examples/small_model/evaluate.mjs";
import { answersOf, lossesOf } from "../../examples/small_model/measures.mjs";
import { overridesFor, scalings } from "../../examples/small_model/scalings.mjs";
import { explanationOf, mean, recallOf, tablesOf } from "../../examples/small_model/tables.mjs";
import { textOf, TRAINED_LENGTH } from "../../examples/small_model/texts.mjs";
import { capture } from "../../scripts/run.mjs";
import { ropewalk } from "../cli/program.mjs";

const folder = join(import.meta.dirname, "..", "..", "examples", "small_model");
const INSIDE = 5; // octaves from 8 words up to the trained length

const readResults = async (from) => JSON.parse(await readFile(join(from, "evaluation.json"), "utf8"));

describe("evaluate.mjs --quick", () => {
  let out, printed, results;
  const find = (scaling, length) => results.measured.find((one) => one.scaling === scaling && one.length === length);
  const lossOf = (scaling, length) => find(scaling, length).groups[0].loss;

  before(async () => {
    out = await mkdtemp(join(tmpdir(), "ropewalk-evaluation-"));
    printed = await capture(process.execPath, [join(folder, "evaluate.mjs"), "--quick", "--out", out]);
    results = await readResults(out);
  });

  after(() => rm(out, { recursive: true, force: true }));

  test("measures every scaling at the trained length and at four times that length", () => {
    const cases = results.measured.map(({ model, scaling, length }) => `${model} ${scaling} ${length}`);
    const expected = [256, 1024].flatMap((length) =>
      Object.keys(scalings).map((scaling) => `trained ${scaling} ${length}`),
    );
    assert.deepEqual(cases.toSorted(), expected.toSorted());
  });

  test("with a factor of 1, every scaling equals none", () => {
    for (const scaling of Object.keys(scalings))
      assert.deepEqual(find(scaling, 256).groups, find("none", 256).groups, scaling);
  });

  test("the model answers correctly within its trained length", () => {
    const [recall] = recallOf(find("none", 256), 0, INSIDE);
    assert.ok(recall >= 0.9, `${recall}`);
  });

  test("beyond the trained length, YaRN has a lower loss than no scaling and PI", () => {
    assert.ok(lossOf("none", 1024) > lossOf("none", 256) + 0.05);
    assert.ok(lossOf("yarn", 1024) < lossOf("none", 1024));
    assert.ok(lossOf("yarn", 1024) < lossOf("linear", 1024));
  });

  test("prints its tables", async () => {
    const tables = await readFile(join(out, "tables.md"), "utf8");
    for (const text of [tables, printed]) {
      for (const { label } of Object.values(scalings)) assert.ok(text.includes(`| ${label} |`), label);
    }
  });
});

test("Q8_0 weights predict as well as f16 weights, and give the same answers", async () => {
  const rw = await load({ build: "simd" });
  const text = textOf({ seed: 5, length: TRAINED_LENGTH, near: true });
  const read = async (source) => {
    const model = await rw.model(source, { kv: { dtype: "f32" } });
    const [losses, answers] = [await lossesOf(model, text), await answersOf(model, text)];
    await model.dispose();
    return { loss: mean([...losses.slice(1)]), answers };
  };
  const [f16, q8] = [await read(folder), await read(join(folder, "model.q8_0.gguf"))];
  await rw.dispose();
  assert.ok(Math.abs(q8.loss - f16.loss) < 0.02, `${q8.loss} and ${f16.loss}`); // one byte per weight: half a percent of the largest of 32
  assert.deepEqual(q8.answers, f16.answers);
  assert.ok(f16.answers.length > 5 && f16.answers.every(({ isRight }) => isRight));
});

test("wrong usage is one line", async () => {
  for (const [script, words, message] of [
    ["evaluate.mjs", ["--quik"], "error: Unknown option '--quik'"],
    ["evaluate.mjs", ["here"], "error: Unexpected argument 'here'. This command does not take positional arguments"],
    ["explain.mjs", ["--out", "there"], "error: Unknown option '--out': --help"],
    ["explain.mjs", ["here", "there"], 'error: one folder at most (got "here there")'],
  ]) {
    const { status, stderr, stdout } = await ropewalk(words, { path: join(folder, script) });
    assert.ok(stderr.startsWith(message), stderr);
    assert.deepEqual([status, stderr.split("\n").length, stdout], [2, 2, ""], script);
  }
  const { stdout } = await ropewalk(["--help"], { path: join(folder, "explain.mjs") });
  assert.match(stdout, /^Measures YaRN and its relatives/);
});

describe("the committed results", () => {
  let results;

  before(async () => {
    results = await readResults(join(folder, "results"));
  });

  test("cover every model, scaling and length", () => {
    assert.deepEqual(results.plan, FULL);
    const lengths = FULL.stretches.map((stretch) => stretch * results.trainedLength);
    for (const model of ["trained", "fine-tuned"]) {
      for (const scaling of Object.keys(scalings)) {
        const cases = results.measured.filter((one) => one.model === model && one.scaling === scaling);
        assert.deepEqual(
          cases.map(({ length }) => length),
          lengths,
        );
        for (const { groups } of cases) assert.equal(groups.length, FULL.groups);
      }
    }
    assert.ok(
      results.measured.some(
        ({ scaling, length }) => scaling === "shift" && length === FULL.endless * results.trainedLength,
      ),
    );
  });

  test("equal what the package computes, in all printed digits: YaRN at four times the trained length", async () => {
    const rw = await load({ build: "simd" });
    const { loss, answerLoss, asked, right } = await measure(rw, FULL, {
      model: { folder },
      rope: overridesFor("yarn", 1024),
      length: 1024,
      group: 0,
    });
    await rw.dispose();
    const [committed] = results.measured.find(
      (one) => one.model === "trained" && one.scaling === "yarn" && one.length === 1024,
    ).groups;
    assert.deepEqual(
      { loss: loss.toFixed(5), answerLoss: answerLoss.toFixed(5) },
      { loss: committed.loss.toFixed(5), answerLoss: committed.answerLoss.toFixed(5) },
    );
    assert.deepEqual({ asked, right }, { asked: committed.asked, right: committed.right });
  });

  test("match the committed tables and charts", async () => {
    const read = (name) => readFile(join(folder, "results", name), "utf8");
    assert.equal(await read("tables.md"), tablesOf(results));
    assert.equal(await read("explanation.md"), explanationOf(JSON.parse(await read("explanation.json"))));
    assert.equal(await read("loss_by_position.svg"), drawLossByPosition(results));
    assert.equal(await read("recall_by_distance.svg"), drawRecallByDistance(results));
  });

  test("match the model card and docs/results.md", async () => {
    const tables = await Promise.all(
      ["tables.md", "explanation.md", "comparison.md", "searched.md"].map((name) =>
        readFile(join(folder, "results", name), "utf8"),
      ),
    );
    const rowsOf = (text) => text.split("\n").filter((line) => /^\|.*\d\.\d/.test(line) && !line.includes("]("));
    const card = rowsOf(await readFile(join(folder, "README.md"), "utf8"));
    const [, recall] = (await readFile(join(folder, "..", "..", "docs", "results.md"), "utf8")).split(
      "## Recall by distance",
    );
    const page = rowsOf(recall);
    assert.ok(card.length > 40 && page.length === 15, `${card.length} and ${page.length} rows`);
    for (const row of [...card, ...page])
      assert.ok(
        tables.some((text) => text.includes(row)),
        row,
      );
  });

  test("show that the model recalls facts within its trained length", () => {
    const plain = results.measured.find(
      (one) => one.model === "trained" && one.scaling === "none" && one.length === results.trainedLength,
    );
    assert.ok(mean(recallOf(plain, 0, INSIDE)) >= 0.95);
  });

  test("have a label for every curve in the charts", async () => {
    for (const draw of [drawLossByPosition, drawRecallByDistance]) {
      const { document } = parseHTML(draw(results));
      const texts = [...document.querySelectorAll("text")].map((text) => text.textContent);
      for (const { label } of Object.values(scalings)) assert.ok(texts.includes(label), label);
    }
  });
});

describe("the committed comparison", () => {
  let rows, tolerance;
  const find = (system, scaling, length) =>
    rows.find((row) => row.system === system && row.scaling === scaling && row.length === length);

  before(async () => {
    ({ rows, tolerance } = JSON.parse(await readFile(join(folder, "results", "comparison.json"), "utf8")));
    assert.equal(tolerance, 2e-3);
  });

  test("every scaling that transformers has is within the tolerance", () => {
    for (const scaling of ["default", "linear", "dynamic", "yarn", "llama3", "longrope", "proportional"]) {
      for (const length of [256, 1024, 4096]) {
        const { largest_relative } = find("transformers", scaling, length);
        assert.ok(largest_relative <= tolerance, `${scaling} ${length}: ${largest_relative}`);
      }
    }
  });

  test("llama.cpp is within the tolerance; at 4096, where its angles are inexact, both match transformers at the same angles", () => {
    for (const scaling of ["linear", "yarn"]) {
      for (const length of [256, 1024])
        assert.ok(find("llama.cpp", scaling, length).largest_relative <= tolerance, `${scaling} ${length}`);
      for (const length of [256, 1024, 4096]) {
        const { ours_same_angles, theirs_same_angles } = find("llama.cpp", scaling, length);
        assert.ok(
          ours_same_angles <= tolerance && theirs_same_angles <= tolerance,
          `${scaling} ${length}: ${ours_same_angles}, ${theirs_same_angles}`,
        );
      }
    }
  });
});
