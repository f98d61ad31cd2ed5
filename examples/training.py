"""What the trainings of the small models share: optimizers and learning rates, texts that scripts print, and the record of a run."""

import json
import os
import platform
import subprocess
import time
from pathlib import Path

import torch


class Optimizers:
    """Muon for the matrices of the layers, AdamW for the embeddings and norms."""

    def __init__(self, model, rate, steps, warm_up):
        named = list(model.named_parameters())
        matrices = [p for name, p in named if p.ndim == 2 and "embed" not in name]
        others = [p for name, p in named if p.ndim != 2 or "embed" in name]
        self._parameters = [p for _, p in named]
        self._steps, self._warm_up, self._step = steps, warm_up, 0
        self._optimizers = [
            torch.optim.Muon([{"params": matrices, "highest": rate * 5}], lr=rate * 5, weight_decay=0.01, momentum=0.95, adjust_lr_fn="original"),
            torch.optim.AdamW([{"params": others, "highest": rate}], lr=rate, betas=(0.9, 0.95), weight_decay=0.0),
        ]

    def step(self, loss):
        """Changes the weights by the gradients of `loss`, clipped to norm 1."""
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        share = self._schedule()
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["highest"] * share
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self._step += 1

    def _schedule(self):
        """Warm-up, constant, then linear decay to 0 over the last 40 %."""
        return min(1, (self._step + 1) / min(self._warm_up, self._steps / 4), (self._steps - self._step) / (0.4 * self._steps))


class Record:
    """The curve of a run, which is printed as it grows, and training.json."""

    def __init__(self):
        self._begun, self._curve = time.monotonic(), []

    def add(self, step, **measures):
        self._curve.append({"step": step, **{name: round(value, 4) for name, value in measures.items()}})
        print(f"{time.monotonic() - self._begun:6.0f} s  {self._curve[-1]}", flush=True)

    def write(self, folder, **facts):
        minutes = round((time.monotonic() - self._begun) / 60, 1)
        machine = {"threads": torch.get_num_threads(), "torch": torch.__version__, "processor": processor()}
        record = {**facts, "minutes": minutes, **machine, "curve": self._curve}
        (folder / "training.json").write_text(json.dumps(record).replace('{"step"', '\n{"step"') + "\n")


def printed(script, *arguments):
    """The lines that a script for Node prints."""
    command = ["node", script, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def processor():
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if os.path.exists(known) else []
    named = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()
