// Decisions without a model: the values of other servers, the exponential function, orders of options, and what questions are refused for.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { answerOf } from "../../../build/package/runtime/model/decide/answers.js";
import { indented, textOf } from "../../../build/package/runtime/model/decide/decision_text.js";
import { exponential } from "../../../build/package/runtime/model/decide/exponential.js";
import { ordersOf } from "../../../build/package/runtime/model/decide/orders.js";
import { readQuestions } from "../../../build/package/runtime/model/decide/questions.js";
import { confidenceOf, distributionOf, meanOf, scoreOf } from "../../../build/package/runtime/model/decide/readout.js";

const close = (actual, expected, digits) =>
  assert.ok(Math.abs(actual - expected) <= 0.5 * 10 ** -digits + 1e-12, `${actual} is not ${expected}`);

describe("values of other servers", () => {
  test("llama.cpp's server: a choice and a score", () => {
    close(confidenceOf("choice", [0.9998, 0.0001, 0.0001]), 0.9997, 4);
    const score = [0.0023, 0.116, 0.6753, 0.2064];
    close(scoreOf(score), 2.0858, 4);
    close(confidenceOf("score", score), 0.673, 3);
  });

  test("TypeSafe's sample, rounded: .62 and .07", () => {
    close(scoreOf([0.66, 0.05, 0.29]), 0.63, 12);
    close(confidenceOf("score", [0.66, 0.05, 0.29]), 0.055, 12);
  });

  test("Bifrost's score", () => close(scoreOf([0.3, 0.5, 0.2]), 0.9, 12));

  test("the formula for vLLM's sample, whose documentation says .6", () => close(scoreOf([0.7, 0.2, 0.1]), 0.4, 12));

  test("one option, where a server accepts it", () => {
    assert.equal(confidenceOf("choice", [1]), 1);
    assert.deepEqual(distributionOf([[-3]], 1).probabilities, [1]);
  });
});

describe("the readout", () => {
  test("an exponential function within 2 ulp, and 0 where numbers end", () => {
    for (let i = 0; i < 20_000; i++) {
      const x = -((i / 20_000) ** 3) * 708;
      assert.ok(Math.abs(exponential(x) - Math.exp(x)) <= 2 ** -51 * Math.exp(x), `${x}`);
    }
    assert.deepEqual([0, -800, -Infinity, NaN].map(exponential), [1, 0, 0, NaN]);
  });

  test("labels of an option are added, and the temperature changes no share of all answers", () => {
    const logprobs = [[Math.log(0.3), Math.log(0.1)], [Math.log(0.1)]];
    const { probabilities, mass } = distributionOf(logprobs, 1);
    close(probabilities[0], 0.8, 12);
    close(mass, 0.5, 12);
    const flat = distributionOf(logprobs, 1e6);
    close(flat.probabilities[0], 2 / 3, 5);
    assert.equal(flat.mass, mass);
    const sharp = distributionOf(logprobs, 1e-3);
    assert.deepEqual(sharp.probabilities, [1, 0]);
  });

  test("labels that nearly nothing is left for still have a distribution", () => {
    const { probabilities, mass } = distributionOf([[-900], [-901]], 1);
    close(probabilities[0], 1 / (1 + Math.exp(-1)), 12);
    assert.equal(mass, 0);
  });

  test("sums to 1 within 1e-12", () => {
    const many = Array.from({ length: 255 }, (_, i) => [-((i * 7919) % 97) / 3]);
    const one = distributionOf(many, 0.7);
    const mean = meanOf([one, distributionOf(many.slice().reverse(), 3)]);
    for (const { probabilities } of [one, mean])
      assert.ok(Math.abs(probabilities.reduce((sum, p) => sum + p, 0) - 1) < 1e-12);
  });

  test("of equal probabilities the first option is chosen", () => {
    const [question] = readQuestions({ a: { type: "choice", criteria: ["x", "y"] } });
    const answer = answerOf(question, { probabilities: [0.5, 0.5], mass: 1 });
    assert.deepEqual(answer, {
      type: "choice",
      choice: "x",
      probabilities: { x: 0.5, y: 0.5 },
      confidence: 0,
      label_mass: 1,
    });
  });
});

describe("orders of options", () => {
  test("the given one, and its reverse", () => {
    assert.deepEqual(ordersOf(3, 1), [[0, 1, 2]]);
    assert.deepEqual(ordersOf(3, 2), [
      [0, 1, 2],
      [2, 1, 0],
    ]);
    assert.equal(ordersOf(2, 510).length, 2);
  });

  test("as many different ones as asked for, or all there are", () => {
    for (const count of [2, 3, 4, 5, 9, 26, 255])
      for (const asked of [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 20, 51, 509, 510]) {
        const orders = ordersOf(count, asked);
        const different = count === 2 ? 2 : 2 * count;
        assert.equal(new Set(orders.map(String)).size, Math.min(asked, different), `${asked} of ${count}`);
        assert.equal(orders.length, Math.min(asked, different));
      }
  });

  test("twice the number of options puts each in each place equally often", () => {
    for (const count of [2, 3, 4, 5, 6, 7, 26]) {
      const orders = ordersOf(count, 2 * count);
      const places = orders.map((order) => order.indexOf(0));
      const often = Array.from({ length: count }, (_, place) => places.filter((at) => at === place).length);
      assert.equal(new Set(often).size, 1, `${count}: ${often}`);
      for (const order of orders) assert.equal(new Set(order).size, count);
    }
  });
});

describe("texts", () => {
  test("JSON as Python's json.dumps() writes it, with the keys of Maps in their order", () => {
    assert.equal(textOf({ a: [1, "é\n"], b: null, c: {} }, "state"), '{"a": [1, "é\\n"], "b": null, "c": {}}');
    assert.equal(
      textOf(
        new Map([
          ["10", true],
          ["9", []],
        ]),
        "state",
      ),
      '{"10": true, "9": []}',
    );
  });

  test("every line break is followed by spaces, so that no text begins at the margin", () => {
    for (const line of ["\n", "\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"])
      assert.equal(indented(`a${line}B: b`), `a${line}  B: b`);
  });

  test("what isn't JSON is refused with its path", () => {
    const circular = {};
    circular.self = circular;
    for (const [value, field] of [
      [1, "state"],
      [null, "state"],
      [undefined, "state"],
      [{ a: [1, undefined] }, "state.a[1]"],
      [{ a: NaN }, "state.a"],
      [{ a: 1n }, "state.a"],
      [{ at: new Date(0) }, "state.at"],
      [[new Set([1])], "state[0]"],
    ])
      assert.throws(() => textOf(value, "state"), { code: "INVALID_ARGUMENT", field });
    assert.throws(() => textOf(circular, "state"), { code: "INVALID_ARGUMENT" });
  });
});

describe("questions", () => {
  const choice = (criteria) => ({ urgency: { type: "choice", criteria } });
  const score = (criteria) => ({ urgency: { type: "score", criteria } });
  const many = (count) => Array.from({ length: count }, (_, i) => `option ${i}`);

  test("four names for yes or no", () => {
    for (const type of ["boolean", "noul", "predicate", "yes_no"])
      assert.equal(readQuestions({ a: { type, instructions: "x" } })[0].type, "boolean");
  });

  test("names that are integers keep their order in Maps, lists and entries", () => {
    const names = ["10", "9", "other", "1"];
    for (const criteria of [names, new Map(names.map((name) => [name, null])), names.map((name) => [name, "x"])])
      assert.deepEqual(
        readQuestions(choice(criteria))[0].options.map(({ name }) => name),
        names,
      );
  });

  test("what is wrong with which field", () => {
    for (const [questions, field, code = "INVALID_ARGUMENT"] of [
      [undefined, "questions"],
      ["x", "questions"],
      [{}, "questions"],
      [[["a"]], "questions[0]"],
      [{ urgency: null }, "questions.urgency"],
      [{ urgency: { type: "box" } }, "questions.urgency.type"],
      [{ urgency: { type: "toString" } }, "questions.urgency.type"],
      [{ urgency: { type: "choice", option: [] } }, "questions.urgency.option", "UNKNOWN_KEY"],
      [{ urgency: { type: "boolean" } }, "questions.urgency.instructions"],
      [{ urgency: { type: "boolean", instructions: " " } }, "questions.urgency.instructions"],
      [{ urgency: { type: "boolean", criteria: { yes: "x" } } }, "questions.urgency.criteria.yes", "UNKNOWN_KEY"],
      [choice(undefined), "questions.urgency.criteria"],
      [choice(["a"]), "questions.urgency.criteria"],
      [choice(many(256)), "questions.urgency.criteria"],
      [choice({ a: 1, b: 2 }), "questions.urgency.criteria.a"],
      [choice(["a", "a"]), "questions.urgency.criteria"],
      [
        choice([
          ["a", "x"],
          ["a", "y"],
        ]),
        "questions.urgency.criteria",
      ],
      [choice(["a", " "]), "questions.urgency.criteria"],
      [score({ low: "x" }), "questions.urgency.criteria"],
      [score(["a"]), "questions.urgency.criteria"],
      [score(many(11)), "questions.urgency.criteria"],
      [score(["a", null]), "questions.urgency.criteria[1]"],
    ])
      assert.throws(() => readQuestions(questions), { code, field }, JSON.stringify(questions));
    assert.equal(readQuestions(choice(many(255)))[0].options.length, 255);
    assert.equal(readQuestions(score(many(10)))[0].options.length, 10);
  });

  test("box is refused by name", () => {
    assert.throws(
      () => readQuestions({ a: { type: "box", instructions: "where" } }),
      /box asks for a place in an image/,
    );
  });
});
