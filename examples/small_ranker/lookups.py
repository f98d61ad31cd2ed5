"""Initial weights and losses by which the small ranker learns to look words of a query up in a text.

Whether a paragraph answers a query is one bit, and says little about why. Which word is missing in a sentence of the paragraph, and which one isn't
the paragraph's, is much more to learn from, and it is what the ranker has to find out about a query. Similar: BERT's masked words, and ELECTRA's
replaced ones (Clark et al. 2020).
"""

import torch

from small_model.initial_weights import CARRIED, common_component, look_back, match_equal, orthogonal

UNKNOWN, BEGIN = 1, 2  # tokens
RESIDUAL = 0.1  # size of an element of the embeddings, which are normalized: as large as what layers add
DISTANCES = (1, 4, 5)  # of "The red ball is in the cellar": from the thing to its color, and from the place to the thing and its color
PAIRS = 96
MISSING, CHANGED = 0.2, 0.15  # shares of the words
TEMPERATURE = 0.1


def begin(model):
    """Sets the heads of the first layer to copy from the tokens some places back, and those of the other layers to match equal tokens."""
    config, (first, *others) = model.config, model.model.layers
    hidden = config.hidden_size
    head_dim, base = hidden // config.num_attention_heads, config.rope_parameters["full_attention"]["rope_theta"]
    with torch.no_grad():
        common, without_common = common_component(model.model.embeddings.tok_embeddings.weight)
        reading = without_common(orthogonal(hidden)[:head_dim])
        model.model.embeddings.norm.weight.fill_(RESIDUAL)
        first.attn.Wqkv.weight /= RESIDUAL  # no norm is before it
        queries, keys, values = first.attn.Wqkv.weight.split(hidden)
        for head, distance in enumerate(DISTANCES):
            rows = slice(head * head_dim, (head + 1) * head_dim)
            look_back(queries[rows], keys[rows], distance, common, base, RESIDUAL)
            values[rows] = reading / RESIDUAL
            first.attn.Wo.weight[:, rows] = 2.5 * CARRIED * orthogonal(hidden)[:, :head_dim]
        for layer in others:
            queries, keys, _ = layer.attn.Wqkv.weight.split(hidden)
            match_equal(queries, keys, without_common)


class LookupLoss(torch.nn.Module):
    """The model, with a classifier of words that isn't kept."""

    def __init__(self, model, tokenizer, longest):
        super().__init__()
        self.ranker, self._tokenizer, self._longest = model, tokenizer, longest
        self.detector = torch.nn.Linear(model.config.hidden_size, 1)
        self._words = torch.tensor(sorted(i for word, i in tokenizer.get_vocab().items() if word.isalpha() and len(word) > 1))
        self._separator = tokenizer.token_to_id("[SEP]")

    def of_random_words(self):
        """The losses of random words as texts, and some words of each that follow one another as sentences."""
        length, asked = int(torch.randint(12, 32, ())), int(torch.randint(5, 10, ()))
        texts = self._words[torch.randint(len(self._words), (PAIRS, length))]
        starts = torch.randint(length - asked + 1, (PAIRS, 1))
        return self._losses(texts.gather(1, starts + torch.arange(asked)), texts)

    def of_sentences(self, texts):
        """The losses of paragraphs and a sentence of each."""
        sentences = [[sentence + "." for sentence in text.rstrip(".").split(". ")] for text in texts]
        drawn = [each[int(torch.randint(len(each), ()))] for each in sentences]
        ids = lambda texts: torch.tensor([encoding.ids for encoding in self._tokenizer.encode_batch(texts, add_special_tokens=False)])
        return self._losses(ids(drawn), ids(list(texts)))

    def _losses(self, sentences, texts):
        """Cross-entropy of the missing words, and of which words were changed."""
        is_word, draw = torch.isin(sentences, self._words), torch.rand(sentences.shape)
        missing, is_changed = is_word & (draw < MISSING), is_word & (draw > 1 - CHANGED)
        # words of the same text are the hardest to tell
        others = texts.gather(1, torch.randint(texts.shape[1], sentences.shape))
        others = torch.where(torch.isin(others, self._words), others, self._words[torch.randint(len(self._words), sentences.shape)])
        shown = torch.where(is_changed, others, sentences)
        column = lambda token: torch.full((len(texts), 1), token)
        parts = [column(BEGIN), shown.masked_fill(missing, UNKNOWN), column(self._separator), texts, column(self._separator)]
        ids = torch.cat(parts, 1)[:, : self._longest]
        states = self.ranker.model(input_ids=ids, attention_mask=(ids != 0).long()).last_hidden_state[:, 1 : sentences.shape[1] + 1]
        logits = states[missing] @ self.ranker.model.embeddings.tok_embeddings.weight.T / TEMPERATURE
        known = is_word & ~missing
        detected = self.detector(states)[..., 0][known]
        return [
            torch.nn.functional.cross_entropy(logits, sentences[missing]),
            torch.nn.functional.binary_cross_entropy_with_logits(detected, (shown != sentences)[known].float()),
        ]
