// Sizes of heads of Gemma 4's layers, drawn at random, compared with transformers.
import assert from "node:assert/strict";
import test from "node:test";
import { formulaFiles } from "../../../files/formula_models.mjs";
import { assertLogits, casesOf } from "../../helpers/random.mjs";
import { rejects, rw } from "../../helpers/runtime.mjs";

test("Gemma 4 with per_layer_config, an empty one and none: transformers' logits", () =>
  assertLogits(rw, casesOf("layer_configs.json")));

test("other keys of single layers are refused, and so is a double-wide block beside experts", async () => {
  const { config, tensors } = casesOf("layer_configs.json").find(({ name }) => name === "gemma4_moe");
  const refuses = (changes, field) =>
    rejects(
      rw.model(formulaFiles({ config: { ...config, ...changes }, tensors })),
      "UNSUPPORTED_MODEL",
      `model.safetensors: ${field}`,
    );
  const last = String(config.num_hidden_layers - 1);
  await refuses(
    { per_layer_config: { [last]: { intermediate_size: 8 } } },
    `per_layer_config.${last}.intermediate_size`,
  );
  await refuses(
    {
      num_kv_shared_layers: 1,
      use_double_wide_mlp: true,
      layer_types: Array(3).fill("full_attention").slice(0, config.num_hidden_layers),
    },
    "use_double_wide_mlp",
  );
  const [llama] = casesOf("sliding_windows.json").filter(({ name }) => name === "llama");
  assert.ok(llama);
  const files = formulaFiles({
    config: { ...llama.config, per_layer_config: { 0: { head_dim: 4 } } },
    tensors: llama.tensors,
  });
  await rejects(rw.model(files), "UNSUPPORTED_MODEL", "model.safetensors: per_layer_config");
});
