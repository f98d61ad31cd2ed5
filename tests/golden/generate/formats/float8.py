"""The values of torch's float8_e4m3fn by their codes, in ../../formats/float8.json. NaN is null.

    python formats/float8.py
"""

import json
from pathlib import Path

import torch

values = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).double().tolist()
text = json.dumps([None if value != value else value for value in values])
(Path(__file__).parents[2] / "formats" / "float8.json").write_text(text + "\n")
