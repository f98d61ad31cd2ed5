"""Writes tiny_models/gpt_oss_mxfp4/, like tiny_models.py: a gpt-oss with experts in MXFP4, as it is released, in safetensors and in GGUF.

    python weights/mxfp4_experts.py
    python weights/mxfp4_experts.py --check   only compares

The expected logits are those of transformers with the weights as its own code dequantizes them. As for other formats of less than 16 bits, there
are also logits with the inputs of these products rounded to 8 bits.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Format
from safetensors.numpy import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

sys.path.insert(0, str(Path(__file__).parents[1]))
from shapes.wider import GPT_OSS, YARN
from tiny_models import expectations, logits_after_steps, make_folders, random_model, write_expected
from tiny_models_configs import rope
from tiny_models_quantized import rounded
from tiny_models_vocabulary import write_tokenizer
from to_gguf import convert

SHAPE = {
    **GPT_OSS,
    "hidden_size": 64,
    "intermediate_size": 32,
    "swiglu_limit": 7.0,
    **rope(1000.0, **YARN, original_max_position_embeddings=32, truncate=False),
}
QUANTIZATION = {
    "quant_method": "mxfp4",
    "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"],
}


def main():
    make_folders(__doc__, ["gpt_oss_mxfp4"], write_model)


def write_model(name, folder):
    model = random_model(name, SHAPE)
    model.save_pretrained(folder)
    convert(folder, folder / "model.gguf", gguf.LlamaFileType.MOSTLY_MXFP4_MOE, experts_in_blocks)
    write_packed(folder)
    write_tokenizer(folder)
    round_experts(model, load_file(folder / "model.safetensors"))
    expected = expectations(name, model.double())
    write_expected(folder / "expected.json", expected | rounded_expectations(model, expected["prompt"], expected["steps"]))


def experts_in_blocks(name, array):
    is_matrix = name.startswith("blk.") and name.endswith("_exps.weight")
    return (gguf.quants.quantize(array, Format.MXFP4), Format.MXFP4) if is_matrix else (array, None)


def write_packed(folder):
    tensors = {}
    for name, array in load_file(folder / "model.safetensors").items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            tensors[name] = array
            continue
        rows = np.ascontiguousarray(array.swapaxes(1, 2))
        blocks = gguf.quants.quantize(rows, Format.MXFP4).reshape(*rows.shape[:2], -1, 17)
        codes = np.concatenate([blocks[..., 1:] & 15, blocks[..., 1:] >> 4], axis=-1)  # one column after the other
        tensors[f"{name}_blocks"] = np.ascontiguousarray(codes[..., ::2] | (codes[..., 1::2] << 4))
        tensors[f"{name}_scales"] = np.ascontiguousarray(blocks[..., 0])
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    path = folder / "config.json"
    config = json.loads(path.read_text()) | {"quantization_config": QUANTIZATION}
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    (folder / "model.safetensors").chmod(0o644)


def round_experts(model, tensors):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if (blocks := tensors.get(f"{name}_blocks")) is not None:
                scales = torch.from_numpy(tensors[f"{name}_scales"])
                parameter.copy_(convert_moe_packed_tensors(torch.from_numpy(blocks), scales, dtype=torch.float32))


def rounded_expectations(model, prompt, steps):
    """Logits at the prompt's last position and at each step, with the inputs of the experts' products rounded to 8 bits."""
    for module in model.modules():
        if hasattr(module, "gate_up_proj"):
            module.register_forward_pre_hook(lambda _, inputs: (rounded(inputs[0]), *inputs[1:]))
            module._apply_gate = lambda gate_up, apply=module._apply_gate: rounded(apply(gate_up))
    with torch.no_grad():
        prompt_logits = model(torch.tensor([prompt])).logits[0, -1]
        return {"rounded_prompt_logits": prompt_logits, "rounded_step_logits": logits_after_steps(model, prompt, steps)}


if __name__ == "__main__":
    main()
