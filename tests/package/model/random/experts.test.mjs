// Mixtures of experts, with fields of their routers drawn at random, compared with transformers.
import test from "node:test";
import { assertLogits, casesOf } from "../../helpers/random.mjs";
import { rw } from "../../helpers/runtime.mjs";

test("routers of every mixture of experts: transformers' logits, with fields drawn at random", () =>
  assertLogits(rw, casesOf("experts.json")));
