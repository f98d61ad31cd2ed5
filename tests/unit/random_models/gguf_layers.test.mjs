// Keys of GGUF that decide what layers and routers do, drawn at random, compared with llama.cpp.
import test from "node:test";
import { formulaGguf } from "../../files/formula_models.mjs";
import { partsOf } from "../../files/model_parts.mjs";
import { assertLogits, casesOf } from "../../package/helpers/random.mjs";
import { rw } from "../../package/helpers/runtime.mjs";

test("recurrent layers, windows, gates of experts and attention factors: llama.cpp's logits", async () => {
  const cases = casesOf("gguf_layers.json");
  const bases = new Map();
  for (const { name } of cases) bases.set(name, (await partsOf(name, "gguf")).keys);
  const fileOf = ({ name, changes, tensors }) => {
    const keys = Object.entries({ ...bases.get(name), ...changes }).filter(([, value]) => value !== null);
    return formulaGguf({ metadata: Object.fromEntries(keys), tensors });
  };
  // GELU is a table of f16 in llama.cpp: see parity.test.mjs
  const isGelu = ({ name }) => name.startsWith("gemma");
  await assertLogits(
    rw,
    cases.filter((one) => !isGelu(one)),
    fileOf,
  );
  await assertLogits(rw, cases.filter(isGelu), fileOf, 5e-3);
});
