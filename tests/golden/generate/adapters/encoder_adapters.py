"""Writes adapters of encoders whose files have in one tensor what transformers 5 has split: LoRA as PEFT saves it, and the mean
vector of a text with it in float64.

    python adapters/encoder_adapters.py            write all
    python adapters/encoder_adapters.py --check    generate them again and compare with the committed files

Needs what peft_adapters.py needs.
"""

import sys
from pathlib import Path

import peft
import torch
from transformers import AutoModel

sys.path.insert(0, str(Path(__file__).parents[1]))
from peft_adapters import GOLDEN, LINEAR, save_adapter, write_or_check
from tiny_models import write_expected

TOKENS = [5 + 7 * index % 50 for index in range(24)]
QKV = ["q_proj", "k_proj", "v_proj"]
# The adapters by name: the tiny model and the config.
ENCODERS = {
    "nomic_split": ("nomic_bert", {"r": 3, "lora_alpha": 6, "target_modules": LINEAR}),
    "gte_split": ("gte", {"r": 4, "lora_alpha": 6, "target_modules": ["k_proj", "v_proj", "up_proj", "gate_proj"], "lora_bias": True}),
    "jina_split": ("jina_embeddings_v3", {"r": 2, "lora_alpha": 6, "target_modules": [*QKV, "o_proj"]}),
}


def write_all(target):
    for name, (base, config) in ENCODERS.items():
        model = AutoModel.from_pretrained(GOLDEN / "tiny_models" / base, dtype=torch.float32, attn_implementation="eager").eval()
        adapted = peft.get_peft_model(model, peft.LoraConfig(**config))
        save_adapter(target / name, name, base, adapted)
        with torch.no_grad():
            vector = adapted.double().eval()(torch.tensor([TOKENS])).last_hidden_state[0].mean(0)
        write_expected(target / name / "expected_vector.json", {"model": base, "tokens": TOKENS, "vector": vector})


if __name__ == "__main__":
    write_or_check(__doc__, write_all)
