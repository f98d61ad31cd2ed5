"""Vectors by sentence-transformers with one thread.

python sentence_transformers_driver.py FOLDER      reads texts as JSON from its input, one list in each line, and answers each with milliseconds
"""

import json
import sys
import time

import torch
from sentence_transformers import SentenceTransformer


def main():
    torch.set_num_threads(1)
    model = SentenceTransformer(sys.argv[1], device="cpu")
    print("ready", flush=True)
    for line in sys.stdin:
        texts = json.loads(line)
        start = time.perf_counter()
        model.encode(texts)
        print(1000 * (time.perf_counter() - start), flush=True)


main()
