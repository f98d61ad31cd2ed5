"""Writes adapters/: LoRA adapters as PEFT saves them, the same for llama.cpp, and the logits of tiny models with them.

    python adapters/peft_adapters.py            write all
    python adapters/peft_adapters.py --check    generate them again and compare with the committed files

Needs peft 0.21.2 and llama-cpp-python 0.3.36, besides requirements.txt.
"""

import argparse
import ctypes
import filecmp
import json
import shutil
import sys
import tempfile
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import peft
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(Path(__file__).parents[1]))
from llama_cpp_logits import CONTEXT
from tiny_models import generator, seven_digits, write_expected

GOLDEN = Path(__file__).parents[2]
HERE = GOLDEN / "adapters"
STEPS = 4

LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# The adapters by name: the tiny model and the config.
ADAPTERS = {
    "llama_all": ("llama", {"r": 4, "lora_alpha": 6, "target_modules": LINEAR}),
    "llama_attention": ("llama", {"r": 3, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"]}),
    "llama_patterns": (
        "llama",
        {
            "r": 4,
            "lora_alpha": 8,
            "target_modules": [*LINEAR, "lm_head"],
            "use_rslora": True,
            "rank_pattern": {"up_proj": 7, "layers.1.self_attn.q_proj": 2},
            "alpha_pattern": {r"layers\.0\..*down_proj": 3, "lm_head": 2},
            "lora_bias": True,
        },
    ),
    "llama_layers": ("llama", {"r": 2, "lora_alpha": 2, "target_modules": ["down_proj"], "layers_to_transform": [1]}),
    "qwen2_all": ("qwen2", {"r": 5, "lora_alpha": 5, "target_modules": LINEAR}),
    "phi3_fused": ("phi3", {"r": 4, "lora_alpha": 8, "target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]}),
    "qwen2_moe_all": ("qwen2_moe", {"r": 3, "lora_alpha": 6, "target_modules": "all-linear"}),
    "gpt_neox_fused": ("gpt_neox", {"r": 4, "lora_alpha": 8, "target_modules": "all-linear"}),
    "deepseek_latent": (
        "deepseek_v2_lite",
        {"r": 3, "lora_alpha": 6, "target_modules": ["q_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]},
    ),
}
# Adapters that are used together, with their scales.
STACKS = {"llama_stack": [("llama_all", 0.5), ("llama_attention", -1.5)]}
# llama.cpp's names of the modules of a layer, and those whose rows its converter permutes.
GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
IN_LLAMA_CPP = ["llama_all", "llama_attention", "qwen2_all"]


def main():
    write_or_check(__doc__, write_all)


def write_or_check(document, write):
    """The command line of the files of adapters. `write(folder)` writes them: to their place, or with --check to another one, to compare."""
    arguments = argparse.ArgumentParser(description=document.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="only compare with the committed files")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) if options.check else HERE
        write(target)
        if options.check:
            compare(target)


def write_all(target):
    target.mkdir(exist_ok=True)
    for name in ADAPTERS:
        write_adapter(target, name)
    for name in IN_LLAMA_CPP:
        write_gguf(target, name)
    for name, stack in STACKS.items():
        (target / name).mkdir(exist_ok=True)
        write_logits(target, name, stack)
    for name in ADAPTERS:
        write_logits(target, name, [(name, 1.0)])
    for name in [*IN_LLAMA_CPP, *STACKS]:
        write_llama_cpp(target, name, STACKS.get(name, [(name, 1.0)]))


def base_model(name):
    eager = {"attn_implementation": "eager", "experts_implementation": "eager"}  # others have no float64
    return AutoModelForCausalLM.from_pretrained(GOLDEN / "tiny_models" / name, dtype=torch.float32, **eager).eval()


def write_adapter(target, name):
    base, config = ADAPTERS[name]
    model = peft.get_peft_model(base_model(base), peft.LoraConfig(task_type="CAUSAL_LM", **config))
    save_adapter(target / name, name, base, model)


def save_adapter(folder, name, base, model):
    """Saves an adapter with random weights, as PEFT does."""
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "lora_" in key:
                # strong enough to change every logit, and weak enough to leave a similar model
                spread = 0.5 if key.endswith("bias") else 0.6 / parameter.shape[-1] ** 0.5
                parameter.copy_(torch.from_numpy(spread * generator(f"{name}/{key}").standard_normal(parameter.shape)))
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    path = folder / "adapter_config.json"
    saved = json.loads(path.read_text())
    # not the path of this machine, nor the order of a set
    saved["base_model_name_or_path"] = f"tiny/{base}"
    saved["target_modules"] = sorted(saved["target_modules"])
    path.write_text(json.dumps(saved, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    (folder / "adapter_model.safetensors").chmod(0o644)


def write_logits(target, name, stack):
    """Logits of the model with adapters in float64, at the last token of the prompt and after each step."""
    base = ADAPTERS[stack[0][0]][0]
    model = base_model(base)
    expected = json.loads((GOLDEN / "tiny_models" / base / "expected.json").read_text())
    prompt, steps = expected["prompt"], expected["steps"][:STEPS]
    model = peft.PeftModel.from_pretrained(model, target / stack[0][0], adapter_name="adapter_0")
    for i, (other, _) in enumerate(stack[1:], 1):
        model.load_adapter(target / other, adapter_name=f"adapter_{i}")
    names = [f"adapter_{i}" for i in range(len(stack))]
    model.base_model.set_adapter(names)
    for module in model.modules():
        if isinstance(module, peft.tuners.lora.LoraLayer):
            for i, (_, scale) in enumerate(stack):
                if f"adapter_{i}" in module.scaling:
                    module.scaling[f"adapter_{i}"] *= scale
    model = model.double().eval()
    with torch.no_grad():
        logits = model(torch.tensor([prompt + steps])).logits[0]
    fields = {"model": base, "prompt": prompt, "steps": steps}
    fields["adapters"] = [{"adapter": adapter, "scale": scale} for adapter, scale in stack]
    fields["prompt_logits"] = logits[len(prompt) - 1 : len(prompt)]
    fields["step_logits"] = logits[len(prompt) :]
    write_expected(target / name / "expected.json", fields)


def write_gguf(target, name):
    """The adapter as llama.cpp's convert_lora_to_gguf.py writes it."""
    base, _ = ADAPTERS[name]
    tensors = load_file(target / name / "adapter_model.safetensors")
    config = json.loads((target / name / "adapter_config.json").read_text())
    model = json.loads((GOLDEN / "tiny_models" / base / "config.json").read_text())
    writer = gguf.GGUFWriter(target / name / "adapter.gguf", model["model_type"])
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(config["lora_alpha"]))
    for key in sorted(tensors):
        layer, module, side = key.removeprefix("base_model.model.model.layers.").split(".", 1)[0], *parts_of(key)
        values = tensors[key]
        if side == "b" and base == "llama" and module in ("self_attn.q_proj", "self_attn.k_proj"):
            heads = model["num_attention_heads" if "q_proj" in module else "num_key_value_heads"]
            values = values.reshape(heads, 2, -1, values.shape[-1]).swapaxes(1, 2).reshape(values.shape)
        writer.add_tensor(f"blk.{layer}.{GGUF_NAMES[module]}.weight.lora_{side}", np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def parts_of(key):
    rest = key.removeprefix("base_model.model.model.layers.").split(".", 1)[1]
    module, side = rest.removesuffix(".weight").split(".lora_")
    return module, side.lower()


def write_llama_cpp(target, name, stack):
    """llama.cpp's logits with the same adapters, at the last token of the prompt and after each step."""
    base = ADAPTERS[stack[0][0]][0]
    expected = json.loads((target / name / "expected.json").read_text())
    f32 = llama_cpp.GGML_TYPE_F32
    options = {"n_ctx": CONTEXT, "n_threads": 1, "logits_all": True, "flash_attn": False, "type_k": f32, "type_v": f32}
    model = llama_cpp.Llama(str(GOLDEN / "tiny_models" / base / "model.gguf"), verbose=False, **options)
    loaded = [llama_cpp.llama_adapter_lora_init(model.model, str(target / other / "adapter.gguf").encode()) for other, _ in stack]
    assert all(loaded)
    adapters = (llama_cpp.llama_adapter_lora_p_ctypes * len(stack))(*loaded)
    scales = (ctypes.c_float * len(stack))(*[scale for _, scale in stack])
    llama_cpp.llama_set_adapters_lora(model.ctx, adapters, len(stack), scales)
    model.eval(expected["prompt"] + expected["steps"])
    last = len(expected["prompt"]) - 1
    logits = np.array(model.scores[last : last + 1 + STEPS], dtype=np.float64)
    theirs = [*expected["prompt_logits"], *expected["step_logits"]]
    print(f"{name}: llama.cpp is {np.abs(logits - np.array(theirs)).max():.2g} from PEFT")
    write_expected(target / name / "expected_llama_cpp.json", {"logits": seven_digits(logits)})


def compare(target):
    for made in sorted(target.rglob("*.*")):
        committed = HERE / made.relative_to(target)
        same = committed.exists() and filecmp.cmp(made, committed, shallow=False)
        print(f"{made.relative_to(target)}: {'same' if same else 'differs'}")


if __name__ == "__main__":
    main()
