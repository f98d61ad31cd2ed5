"""Trains the small ranker on queries and the paragraphs that the small encoder finds for them. Seeded, on one thread of a CPU.

    python examples/small_ranker/train.py --out examples/small_ranker

Writes config.json, model.safetensors in f16, tokenizer.json and training.json: the curve, the time and the machine.
"""

import argparse
import json
import random
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import EuroBertModel, ModernBertConfig, ModernBertForSequenceClassification

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from small_encoder.train import embed  # noqa: E402
from training import Optimizers, Record, printed  # noqa: E402

ENCODER = HERE.parent / "small_encoder"
LONGEST = 128  # tokens of a query and a paragraph
WORDS = (28, 104)  # of paragraphs: facts alone, and as many as fit
QUERIES = 16  # of a step
NEAREST = 24  # the wrong paragraphs are among so many that the encoder finds
COLLECTIONS_AT_ONCE = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate of AdamW")
    parser.add_argument("--right", type=int, default=2, help="paragraphs per query that answer it, at most")
    parser.add_argument("--wrong", type=int, default=4)
    parser.add_argument("--local", type=int, default=0)
    parser.add_argument("--listwise", type=float, default=0)
    parser.add_argument("--short", type=float, default=0.4)
    parser.add_argument("--warm", type=int, default=1)
    parser.add_argument("--mlm", type=float, default=0.6)
    parser.add_argument("--pooling", default="cls")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(ENCODER / "tokenizer.json"))
    tokenizer.add_special_tokens(["[SEP]"])
    from tokenizers.processors import TemplateProcessing
    sep=tokenizer.token_to_id("[SEP]")
    tokenizer.post_processor=TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]",2),("[SEP]",sep)])
    tokenizer.enable_padding(pad_id=0)
    layers = ["full_attention"] * 4
    model = ModernBertForSequenceClassification(ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=96, intermediate_size=256, hidden_activation="silu", num_hidden_layers=4, num_attention_heads=3, layer_types=layers, local_attention=options.local or 128,
        rope_parameters={k: {"rope_type": "default", "rope_theta": 10000.0} for k in ("full_attention", "sliding_attention")}, max_position_embeddings=128, num_labels=1, pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=sep, sep_token_id=sep, classifier_pooling=options.pooling))
    print(f"{model.num_parameters():,} weights", flush=True)
    if options.warm:
        begin(model, EuroBertModel.from_pretrained(ENCODER, dtype=torch.float32))
    choose = random.Random(options.seed + 1)
    optimizers, record, recent = Optimizers(model, options.rate, options.steps, 50), Record(), []
    for step, (queries, texts, labels) in zip(range(options.steps), batches(options)):
        enc = tokenizer.encode_batch(list(zip(queries, texts)))
        ids = torch.tensor([e.ids for e in enc])[:, :LONGEST]
        mask = torch.tensor([e.attention_mask for e in enc])[:, :LONGEST]
        logits = model(input_ids=ids, attention_mask=mask).logits[:, 0]
        right = torch.tensor(labels, dtype=torch.float)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, right)
        n = options.right + options.wrong
        if options.listwise:
            lg, rt = logits.view(-1, n), right.view(-1, n)
            first = torch.cat([lg[:, :1], lg[:, :].masked_fill(rt > 0, -1e4)], 1)
            loss = loss + options.listwise * -torch.log_softmax(first, 1)[:, 0].mean()
        mlm = torch.tensor(0.0)
        if step < options.mlm * options.steps:
            mlm = lookup_loss(model, tokenizer, texts[::2], choose)
            loss = loss + mlm
        optimizers.step(loss)
        st = torch.tensor([q[0] == "T" for q in queries])
        ok = ((logits > 0) == (right > 0)).float()
        recent.append((loss.item() - mlm.item(), mlm.item(), ok.mean().item(), ok[st].mean().item(), ids.shape[1]))
        if step % 50 == 49:
            l, m, a, s, w = torch.tensor(recent).mean(0).tolist()
            record.add(step + 1, loss=l, lookup=m, accuracy=a, statements=s, tokens=w)
            recent = []
    options.out.mkdir(exist_ok=True, parents=True)
    model.save_pretrained(options.out); tokenizer.no_padding(); tokenizer.save(str(options.out / "tokenizer.json"))
    record.write(options.out, seed=options.seed, steps=options.steps)


def lookup_loss(model, tokenizer, texts, choose):
    """Cross-entropy of words that are missing in a sentence of the text after it."""
    sentences = [choose.choice(text.split(". ")).rstrip(".") + "." for text in texts]
    enc = tokenizer.encode_batch(list(zip(sentences, texts)))
    ids = torch.tensor([e.ids for e in enc])[:, :LONGEST]
    mask = torch.tensor([e.attention_mask for e in enc])[:, :LONGEST]
    query = torch.tensor([[s == 0 for s in e.sequence_ids] for e in enc])[:, :LONGEST]
    plain = torch.tensor([tokenizer.token_to_id(w) for w in ("the", "is", "in", ".", "and", "a", "it")])
    query &= ~torch.isin(ids, plain) & (ids > 3)
    chosen = (torch.rand(ids.shape) * query).argmax(1)
    hidden = torch.zeros_like(query)
    hidden[torch.arange(len(ids)), chosen] = True
    hidden &= query
    states = model.model(input_ids=ids.masked_fill(hidden, 1), attention_mask=mask).last_hidden_state
    logits = states[hidden] @ model.model.embeddings.tok_embeddings.weight.T
    return torch.nn.functional.cross_entropy(logits, ids[hidden])


def begin(model, encoder):
    """Sets all layers but the last to the encoder's, and the heads of the last to match equal states."""
    with torch.no_grad():
        e = encoder.embed_tokens.weight
        model.model.embeddings.tok_embeddings.weight[: len(e)] = e
        scale = e.pow(2).mean(1).sqrt().mean()  # the encoder normalizes no embeddings
        model.model.embeddings.norm.weight.fill_(scale)
        for i, (a, b) in enumerate(zip(model.model.layers, encoder.layers)):
            n = b.input_layernorm.weight
            qkv = torch.cat([b.self_attn.q_proj.weight, b.self_attn.k_proj.weight, b.self_attn.v_proj.weight])
            if i == 0:
                qkv = qkv * n / scale
            else:
                a.attn_norm.weight.copy_(n)
            a.attn.Wqkv.weight.copy_(qkv); a.attn.Wo.weight.copy_(b.self_attn.o_proj.weight)
            a.mlp_norm.weight.copy_(b.post_attention_layernorm.weight)
            a.mlp.Wi.weight.copy_(torch.cat([b.mlp.gate_proj.weight, b.mlp.up_proj.weight])); a.mlp.Wo.weight.copy_(b.mlp.down_proj.weight)
        for layer in model.model.layers[len(encoder.layers):]:
            q, k, v = layer.attn.Wqkv.weight.split(96)
            k.copy_(torch.randn(96, 96) * 1.2 / 96**0.5); q.copy_(k)
        r = [float(x.norm()) for x in (e[5], model.model.layers[1].attn.Wo.weight)]
        print("norms", scale, r)


def batches(options):
    choose = random.Random(options.seed)
    encoder = EuroBertModel.from_pretrained(ENCODER, dtype=torch.float32).eval()
    tokenizer = Tokenizer.from_file(str(ENCODER / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=0)
    first, done = options.seed * 10_000_000, 0
    while True:
        share = done / options.steps
        facts, low, high = (4, 0, 0) if share < 0.5 else (4, 0, 60) if share < 0.75 else (4, 28, 104)
        for line in printed(HERE / "print_collections.mjs", first, COLLECTIONS_AT_ONCE, low, high, facts):
            c = json.loads(line)
            with torch.no_grad():
                v, q = embed(encoder, tokenizer, c["paragraphs"]), embed(encoder, tokenizer, c["queries"])
            order = (q @ v.T).argsort(1, descending=True)[:, : NEAREST].tolist()
            for at in range(0, len(c["queries"]), QUERIES):
                qs, ts, ls = [], [], []
                for i in range(at, at + QUERIES):
                    answers = c["answers"][i]
                    right = choose.sample(answers, min(len(answers), options.right))
                    # half of the wrong ones are among the nearest, where the thing is right
                    wrong = [k for k in order[i] if k not in answers]
                    near = options.right + options.wrong - len(right)
                    w = wrong[:3] + choose.sample(wrong[3:], near - 3)
                    for k in right + w:
                        qs.append(c["queries"][i]); ts.append(c["paragraphs"][k]); ls.append(float(k in answers))
                yield qs, ts, ls
                done += 1
        first += COLLECTIONS_AT_ONCE * 4


if __name__ == "__main__":
    main()
