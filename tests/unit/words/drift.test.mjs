// scripts/drift: what it finds in small trees that have the layout of each release.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test, { after } from "node:test";
import { readBaseline, READERS } from "../../../scripts/drift/drift.mjs";
import { compareFacts, listOf } from "../../../scripts/drift/compare.mjs";
import { knownNames } from "../../../scripts/drift/known.mjs";
import { SOURCES } from "../../../scripts/drift/sources.mjs";

const known = await knownNames();
const root = mkdtempSync(join(tmpdir(), "drift-"));
after(() => rmSync(root, { recursive: true }));

/** A folder with these files, read as a release. */
function read(source, files) {
  const folder = mkdtempSync(join(root, "release-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return READERS[source](folder).map((fact) => ({ ...fact, source }));
}

const namesOf = (facts) => facts.map(({ kind, name }) => `${kind} ${name}`);

const rotary = `
class RopeParameters(TypedDict, total=False):
    """
        factor (\`float\`): a text
    """
    rope_theta: float | None
    slope: float | None


class Mixin:
    def _validate_linear_rope_parameters(self):
        required_keys = {"rope_type", "factor"}
        optional_keys = {"rope_theta"}

    def _validate_spiral_rope_parameters(self):
        required_keys = {"rope_type", "turns"}


ROPE_INIT_FUNCTIONS: dict = {
    "linear": _linear,
    "yarn": _yarn,
}
`;
const auto = `
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = OrderedDict(
    [
        ("qwen3", "Qwen3ForCausalLM"),
        ("zebra", "ZebraForCausalLM"),
    ]
)
MODEL_FOR_MASKED_LM_MAPPING_NAMES = OrderedDict(
    [
        ("bert", "BertForMaskedLM"),
    ]
)
MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES = OrderedDict(
    [
        ("t5", "T5EncoderModel"),
    ]
)
`;
const qwen3 = (theta, epsilon) => `
class Qwen3Base(PreTrainedConfig):
    r"""
    hidden_size: int = 7
    """
    hidden_size: int = 4_096

class Qwen3Config(Qwen3Base):
    model_type = "qwen3"
    base_model_tp_plan = {
        "layers.*": "colwise",
    }
    default_theta = ${theta}

    num_key_value_heads: int | None = 32
    hidden_act: str = "silu"
    rms_norm_eps: float = ${epsilon}
    attention_bias: bool = False
    stripes: int = 4  # of a zebra
    rope_parameters: RopeParameters | dict | None = None
`;
const transformers = (theta = "10_000.0", epsilon = "1e-6") => ({
  "transformers/modeling_rope_utils.py": rotary,
  "transformers/models/auto/__init__.py": "",
  "transformers/models/auto/modeling_auto.py": auto,
  "transformers/models/qwen3/__init__.py": "",
  "transformers/models/qwen3/configuration_qwen3.py": qwen3(theta, epsilon),
});

test("transformers: unknown types, keys, models and fields", () => {
  const { unknown, changed } = compareFacts(read("transformers", transformers()), known, []);
  assert.deepEqual(namesOf(unknown), [
    "rope type spiral",
    "rope key slope",
    "rope key turns",
    "language model zebra",
    "field qwen3.stripes",
  ]);
  assert.deepEqual(changed, []);
});

test("transformers: changed defaults", () => {
  const { changed } = compareFacts(read("transformers", transformers("5e6", "1e-5")), known, []);
  const found = changed.map(({ kind, name, value, known }) => [kind, name, value, known]);
  assert.deepEqual(found, [
    ["field", "qwen3.rms_norm_eps", 1e-5, 1e-6],
    ["base", "qwen3", 5e6, [1e4]],
  ]);
});

const llamaCpp = {
  "src/llama-arch.cpp": `
static const std::map<llm_arch, const char *> LLM_ARCH_NAMES = {
    { LLM_ARCH_LLAMA,   "llama" },
    { LLM_ARCH_ZEBRA_2, "zebra_2" },
};
static const std::map<llm_kv, const char *> LLM_KV_NAMES = {
    { LLM_KV_BLOCK_COUNT,    "%s.block_count" },
    { LLM_KV_ROPE_FREQ_BASE, "%s.rope.freq_base" },
    { LLM_KV_ROPE_SPIRAL,    "%s.rope.spiral" },
    { LLM_KV_STRIPES,        "%s.stripes" },
    { LLM_KV_BOS,            "tokenizer.ggml.bos_token_id" },
    { LLM_KV_UNREAD,         "%s.unread" },
};
`,
  "src/llama-vocab.cpp": `
    if (tokenizer_model == "no_vocab" || tokenizer_model == "llama" || tokenizer_model == "stripes") {}
    if (tokenizer_pre == "llama-bpe" ||
        tokenizer_pre == "zebra") { get(LLM_KV_BOS); }
`,
  "src/llama-model.cpp": `
static const std::map<llama_rope_scaling_type, const char *> LLAMA_ROPE_SCALING_TYPES = {
    { A, "none" },
    { B, "spiral" },
};
    get(LLM_KV_BLOCK_COUNT); get(LLM_KV_ROPE_FREQ_BASE); get(LLM_KV_ROPE_SPIRAL);
`,
  "src/llama-quant.cpp": "set(LLM_KV_UNREAD);",
  "src/models/zebra-2.cpp": "get(LLM_KV_STRIPES);",
  "ggml/include/ggml.h": `
        GGML_TYPE_F32   = 0,
        // GGML_TYPE_Q4_2 = 4, support has been removed
        GGML_TYPE_Q2_0  = 41,
        GGML_TYPE_Z1    = 99,
        GGML_TYPE_COUNT = 100,
`,
};

test("llama.cpp: names, and keys that are read for an architecture of this package", () => {
  const { unknown, changed } = compareFacts(read("llama.cpp", llamaCpp), known, []);
  assert.deepEqual(namesOf(unknown), [
    "GGUF architecture zebra_2",
    "GGUF key rope.spiral",
    "GGUF scaling spiral",
    "pre-tokenizer zebra",
    "GGUF tokenizer stripes",
    "tensor type z1",
  ]);
  assert.deepEqual(
    changed.map(({ name, value, known }) => [name, value, known]),
    [["q2_0", 41, 42]],
  );
  const inLlama = { ...llamaCpp, "src/models/llama.cpp": "get(LLM_KV_STRIPES);" };
  const { unknown: more } = compareFacts(read("llama.cpp", inLlama), known, []);
  assert.ok(namesOf(more).includes("GGUF key stripes"));
});

const others = {
  gguf: {
    "gguf/constants.py": `
class Keys:
    class Rope:
        FREQ_BASE = "{arch}.rope.freq_base"
        SPIRAL    = "{arch}.rope.spiral"

#
# types
#
MODEL_ARCH_NAMES: dict[MODEL_ARCH, str] = {
    MODEL_ARCH.MMPROJ: "mmproj",
    MODEL_ARCH.ZEBRA:  "zebra",
}


class RopeScalingType(Enum):
    NONE   = 'none'
    SPIRAL = 'spiral'


class GGMLQuantizationType(IntEnum):
    F32 = 0
    Z1  = 99


class Other:
    X = 1
`,
  },
  "mlx-lm": {
    "mlx_lm/models/rope_utils.py": `
        for key in [
            "beta_fast",
            "turns",
        ]
    if rope_type in ["default", "linear"]:
        scaling_config["factor"]
    elif rope_type == "spiral":
        scaling_config.get("slope", 1.0)
`,
    "mlx_lm/models/zebra.py": "class Model(nn.Module):\n    self.rope = initialize_rope()\n",
    "mlx_lm/models/cache.py": "class Cache:\n    rope = 1\n",
  },
  sglang: {
    "sglang/srt/layers/rotary_embedding/factory.py": `
    if scaling_type == "spiral":
        _get_rope_param(rope_scaling, "slope", 1.0, scaling_type)
        {
            k: v
            for k, v in rope_scaling.items()
            if k
            in (
                "beta_fast",
                "turns",
            )
        }
`,
  },
  jinja: {
    "src/runtime.ts": `
  TESTS: ReadonlyMap = new Map([
    ["defined", f],
    ["striped", f],
  ]);
  env.set("range", range);
  env.set("zebra", zebra);
  private applyFilter(operand: X) {
    switch (filter.value) { case "upper": case "stripe": }
  }
  private evaluateFilterExpression(
`,
  },
  "ai-sdk": {
    "src/language-model/v4/a.ts": "",
    "src/language-model/v5/call-options.ts": `
/** a text: type: 'none' */
export type LanguageModelV5CallOptions = {
  prompt: LanguageModelV5Prompt;
  stripes?: {
    type: 'zebra';
  };
};
`,
  },
};

test("the other releases", () => {
  const found = Object.entries(others).map(([source, files]) =>
    namesOf(compareFacts(read(source, files), known, []).unknown),
  );
  assert.deepEqual(found, [
    ["GGUF architecture zebra", "GGUF key rope.spiral", "GGUF scaling spiral", "tensor type z1"],
    ["rope type spiral", "rope key slope", "rope key turns", "MLX model zebra"],
    ["rope type spiral", "rope key slope", "rope key turns"],
    ["template filter stripe", "template test striped", "template global zebra"],
    ["AI SDK version language-model/v5", "AI SDK option stripes", "AI SDK part zebra"],
  ]);
});

test("the baseline covers names and patterns, and what it no longer covers is reported", () => {
  const facts = read("llama.cpp", llamaCpp);
  const entry = (kind, name) => ({ kind, name, reason: "a reason" });
  const baseline = [
    entry("GGUF architecture", "zebra*"),
    entry("GGUF key", "rope.spiral"),
    entry("GGUF scaling", "spiral"),
    entry("GGUF key", "rope.freq_base"), // known
    entry("pre-tokenizer", "gone"),
  ];
  const result = compareFacts(facts, known, baseline);
  assert.deepEqual(namesOf(result.unknown), ["pre-tokenizer zebra", "GGUF tokenizer stripes", "tensor type z1"]);
  assert.deepEqual(namesOf(result.stale), ["GGUF key rope.freq_base", "pre-tokenizer gone"]);
  const lines = listOf(result).split("\n");
  assert.deepEqual(lines.slice(0, 3), ["## llama.cpp", "", "- pre-tokenizer `zebra` is unknown (llama-vocab.cpp)"]);
  assert.ok(lines.includes("- tensor type `q2_0` is 41 there and 42 here (ggml.h)"));
  assert.equal(lines.at(-1), "- pre-tokenizer `gone` is known now, or nowhere to be found: remove the entry");
  assert.equal(listOf(compareFacts([], known, [])), "");
});

test("a source whose layout has changed is an error", () => {
  assert.throws(() => read("gguf", { "gguf/constants.py": "X = 1\n" }), /its layout has changed/);
});

test("every source has a reader, and every entry of the baseline a kind and a reason", () => {
  assert.deepEqual(Object.keys(READERS), Object.keys(SOURCES));
  for (const { kind, name, reason } of readBaseline()) {
    assert.ok(Object.hasOwn(known, kind), `${kind} ${name}`);
    assert.ok(reason.length > 0, name);
  }
});
