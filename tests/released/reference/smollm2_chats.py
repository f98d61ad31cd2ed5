"""What llama.cpp and transformers make of some chats with SmolLM2: the text of the prompt, its ids, and llama.cpp's most probable tokens.

python smollm2_chats.py CHATS.json OUTPUT.json MODEL.gguf
For each chat OUTPUT.json has `text` (the file's template rendered by transformers), `ids` (llama.cpp's, of that text with its control tokens), and
for each step of a greedy answer the `tokens` and `leads`: how far the first logit is above the second.
"""

import json
import sys
from pathlib import Path

import llama_cpp
import numpy as np
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

STEPS = 64


def main():
    chats = json.loads(Path(sys.argv[1]).read_text())
    model = llama_cpp.Llama(sys.argv[3], n_ctx=1024, logits_all=False, n_threads=1, verbose=False)
    renderer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, [])))
    template = model.metadata["tokenizer.chat_template"]
    results = []
    for chat in chats:
        text = renderer.apply_chat_template(chat, chat_template=template, add_generation_prompt=True, tokenize=False)
        ids = model.tokenize(text.encode(), add_bos=False, special=True)
        tokens, leads = greedy(model, ids)
        results.append({"text": text, "ids": ids, "tokens": tokens, "leads": leads})
    Path(sys.argv[2]).write_text(json.dumps(results))


def greedy(model, ids):
    model.reset()
    model.eval(ids)
    tokens, leads = [], []
    for _ in range(STEPS):
        logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits(model.ctx), shape=(model.n_vocab(),))
        second, first = np.sort(np.partition(logits, -2)[-2:])
        tokens.append(int(logits.argmax()))
        leads.append(float(first - second))
        if tokens[-1] == model.token_eos():
            break
        model.eval(tokens[-1:])
    return tokens, leads


main()
