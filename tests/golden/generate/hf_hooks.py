"""Runs a family's own attention layer on given queries, keys and values.

Replaces the results of its projections by the short numbers that a case stores. Everything after them, up to the output
projection, is the family's own code.
"""

from contextlib import ExitStack, contextmanager


@contextmanager
def returning(outputs):
    """Makes modules return fixed tensors. `outputs` has pairs of a module and its tensor."""
    with ExitStack() as hooks:
        for module, output in outputs:
            hooks.enter_context(module.register_forward_hook(lambda module, args, own, output=output: output))
        yield


@contextmanager
def input_of(module):
    """Yields a list that collects the first argument of every call of the module."""
    seen = []
    with module.register_forward_pre_hook(lambda module, args: seen.append(args[0].detach())):
        yield seen


def joined(heads):
    """Reshapes [batch, heads, tokens, head_dim] to what projections return: [batch, tokens, heads * head_dim]."""
    return heads.transpose(1, 2).flatten(2)


def split(tokens, head_dim):
    """The inverse of joined()."""
    return tokens.unflatten(-1, (-1, head_dim)).transpose(1, 2)
