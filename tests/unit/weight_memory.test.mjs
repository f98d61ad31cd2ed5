// Parameters and memory of weights by a config.json alone: against transformers, and against the files of tiny models.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { diagnosed, qwen, rw } from "../package/doctor/cases.mjs";

const root = join(import.meta.dirname, "..", "..");
const configs = join(root, "examples", "configs");
const tiny = join(root, "tests", "golden", "tiny_models");
const read = (path) => JSON.parse(readFileSync(path, "utf8"));

/** Parameters of the model that transformers 5.24 makes of each config, on the device `meta`. */
const RELEASED = {
  "deepseek-v3": 671_026_404_352,
  "gemma-3-1b": 999_885_952,
  "gpt-oss-20b": 20_914_757_184,
  "llama-2-7b": 6_738_415_616,
  "llama-3.1-8b": 8_030_261_248,
  "mistral-7b-v0.3": 7_248_023_552,
  "phi-3.5-mini": 3_821_079_552,
  "qwen2.5-7b": 7_615_616_512,
  "qwen3-0.6b": 596_049_920,
  "smollm2-135m": 134_515_008,
};

test("the parameters of released models are those of transformers", async () => {
  assert.deepEqual(
    readdirSync(configs)
      .filter((name) => name.endsWith(".json"))
      .sort(),
    Object.keys(RELEASED).map((name) => `${name}.json`),
  );
  for (const [name, parameters] of Object.entries(RELEASED)) {
    const { weights } = await diagnosed(read(join(configs, `${name}.json`)));
    assert.equal(weights.parameters, parameters, name);
    assert.deepEqual(weights.formats[0], { name: "F16, BF16", bits: 16, bytes: 2 * parameters });
  }
});

/** Tensors that the estimate leaves out: of the vision part, and vectors of routers, heads and layers. The share of real models is under 0.01 %. */
const LEFT_OUT = {
  vision: ["qwen2_vl", "qwen3_vl", "qwen3_vl_moe"],
  vectors:
    "apertus deepseek_v3 dots1 ernie4_5_moe exaone_moe gemma3n gemma4 gemma4_dense gemma4_moe glm4_moe glm4_moe_air glm4_moe_lite gptj hy_v3 internlm3 kimi_k2 minimax_m2 phi".split(
      " ",
    ),
};

test("the parameters of tiny models are those of their files", async () => {
  let same = 0;
  for (const name of readdirSync(tiny)) {
    const path = join(tiny, name, "config.json");
    if (!existsSync(path)) continue;
    const { weights } = await diagnosed(read(path));
    if (weights === null || LEFT_OUT.vision.includes(name)) continue;
    const { parameters } = await rw.modelInfo(join(tiny, name));
    if (LEFT_OUT.vectors.includes(name)) {
      assert.ok(weights.parameters < parameters && weights.parameters > 0.97 * parameters, name);
      continue;
    }
    assert.equal(weights.parameters, parameters, name);
    same++;
  }
  assert.ok(same >= 68);
});

test("a GGUF file has its own bytes first; metadata alone has none", async () => {
  const path = join(root, "examples", "small_model", "model.q8_0.gguf");
  const { weights } = await diagnosed(path);
  const [own, f16] = weights.formats;
  assert.equal(own.name, "this file");
  assert.ok(own.bits > 8 && own.bits < 9);
  assert.equal(f16.bytes, 2 * weights.parameters);
  assert.ok(Math.abs(weights.parameters - 1_126_528) < 200);
});

test("sizes that a config.json leaves out are those of the class in transformers", async () => {
  const { intermediate_size: _, vocab_size: __, ...without } = read(join(configs, "qwen2.5-7b.json"));
  assert.equal((await diagnosed(without)).weights.parameters, 8_539_543_040);
});

test("sizes that a config leaves out are those of its class", async () => {
  const { weights } = await diagnosed({ model_type: "gpt2", n_positions: 1024 });
  assert.equal(weights.parameters, 124_439_808); // those of GPT-2 small
});

test("no estimate for recurrent models, encoders and other architectures", async () => {
  for (const name of ["lfm2", "qwen3_next", "mamba", "bert"])
    assert.equal((await diagnosed(read(join(tiny, name, "config.json")))).weights, null, name);
  assert.equal((await diagnosed({ ...qwen, model_type: "unheard_of" })).weights, null);
});
