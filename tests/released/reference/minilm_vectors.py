"""The vectors of some texts by sentence-transformers.

python minilm_vectors.py TEXTS.json OUTPUT.json FOLDER
"""

import json
import sys
from pathlib import Path

from sentence_transformers import SentenceTransformer


def main():
    texts = json.loads(Path(sys.argv[1]).read_text())
    model = SentenceTransformer(sys.argv[3], device="cpu")
    vectors = model.encode(texts, batch_size=1)  # one at a time, so that padding changes no bits
    Path(sys.argv[2]).write_text(json.dumps({"length": model.max_seq_length, "vectors": vectors.tolist()}))


main()
