"""Logits of every position of some texts: by the dequantized weights in float32 (transformers), and how far llama.cpp's are from those.

python smollm2_logits.py IDS.json MODEL.gguf FOLDER
IDS.json is a list of lists of ids. FOLDER gets <i>.f32, [tokens][vocabulary], and llama_cpp.json: for each text, by token, the KL divergence of
llama.cpp's distribution from the exact one (in nats), and whether the most probable token is the same.
"""

import json
import sys
from pathlib import Path

import llama_cpp
import numpy as np
import torch
from transformers import AutoModelForCausalLM


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def main():
    texts, path, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), Path(sys.argv[3])
    exact = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32)
    exact.eval()
    theirs = llama_cpp.Llama(str(path), n_ctx=max(map(len, texts)), n_batch=512, logits_all=True, n_threads=1, verbose=False)
    measured = []
    for i, ids in enumerate(texts):
        with torch.no_grad():
            logits = exact(torch.tensor([ids])).logits[0].numpy()
        logits.tofile(folder / f"{i}.f32")
        theirs.reset()
        theirs.eval(ids)
        scores = np.array(theirs.scores[: len(ids)])
        p, q = log_softmax(logits), log_softmax(scores)
        measured.append({
            "kl": (np.exp(p) * (p - q)).sum(axis=-1).tolist(),
            "same_top": (p.argmax(axis=-1) == q.argmax(axis=-1)).tolist(),
        })
    (folder / "llama_cpp.json").write_text(json.dumps(measured))


main()
