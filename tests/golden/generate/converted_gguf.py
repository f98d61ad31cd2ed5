"""Converts the tiny models with recurrent layers to GGUF by llama.cpp's own converter, with the tiny vocabulary or that of RWKV.

    python converted_gguf.py CHECKOUT               tiny_models/<name>/model.gguf for every one that GGUF supports
    python converted_gguf.py CHECKOUT lfm2 mamba    only these

CHECKOUT is a folder with the source of llama.cpp.
"""

import argparse
import sys
from pathlib import Path

from rwkv.rwkv_vocabulary import FILE as RWKV_VOCABULARY
from shapes.hybrids import CONFIGS, NOT_IN_GGUF

HERE = Path(__file__).parents[1] / "tiny_models"
NAMES = [*(name for name in CONFIGS if name not in NOT_IN_GGUF), "rwkv7"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("checkout", type=Path, help="a folder with the source of llama.cpp")
    arguments.add_argument("names", nargs="*", help="the models; default: all")
    options = arguments.parse_args()
    sys.path[:0] = [str(options.checkout), str(options.checkout / "gguf-py")]
    for name in options.names or NAMES:
        path = HERE / name / "model.gguf"
        convert(HERE / name, path)
        print(f"{name}: {path.stat().st_size} bytes")


def convert(folder, path):
    import gguf
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
    from to_gguf import add_vocabulary

    config = ModelBase.load_hparams(folder, False)
    known = get_model_class(get_model_architecture(config, ModelType.TEXT), mmproj=False)

    class WithTinyVocabulary(known):
        model_arch = known.model_arch
        no_mtp = True

        def set_vocab(self):
            if (folder / RWKV_VOCABULARY).exists():
                super().set_vocab()
            else:
                add_vocabulary(self.gguf_writer)

        def get_attn_layers(self):  # Granite: transformers has new names for its kinds of layers
            if (kinds := self.hparams.get("layer_types")) is None:
                return super().get_attn_layers()
            return [i for i, kind in enumerate(kinds) if kind in ("attention", "full_attention")]

        def prepare_metadata(self, vocab_only):
            super().prepare_metadata(vocab_only)
            self.metadata.name = "tiny"  # llama.cpp recognizes some families by the name

    path.unlink(missing_ok=True)
    model = WithTinyVocabulary(folder, gguf.LlamaFileType.ALL_F32, path, hparams=as_released(config))
    model.write()


def as_released(config):
    """Nemotron-H without experts as its makers write it. transformers adds the keys of experts, by which the converter knows those with experts."""
    if "mlp" not in config.get("layers_block_type", []):
        return config
    letters = {"linear_attention": "M", "full_attention": "*", "mlp": "-"}
    pattern = "".join(letters[kind] for kind in config["layers_block_type"])
    added = ("layers_block_type", "num_experts_per_tok", "n_routed_experts", "n_group", "topk_group")
    kept = {key: value for key, value in config.items() if key not in added}
    return {**kept, "hybrid_override_pattern": pattern, "num_hidden_layers": len(pattern)}


if __name__ == "__main__":
    main()
