// Attention factors of models that normalize queries and keys after the rotation, drawn at random, compared with transformers.
import test from "node:test";
import { assertLogits, casesOf } from "../../helpers/random.mjs";
import { rw } from "../../helpers/runtime.mjs";

test("norms after the rotation take the attention factor away: transformers' logits", () =>
  assertLogits(rw, casesOf("rotated_norms.json")));
