// Texts that a random model writes, token by token, while it computes what it always does.

/** The distinct words and marks of a text, numbered from `first` on. */
export function wordIds(text, first) {
  const ids = new Map();
  return (text.match(/\w+|[^\w\s]/g) ?? []).map((word) => {
    if (!ids.has(word)) ids.set(word, first + ids.size);
    return ids.get(word);
  });
}

/** A copy with an edit after each `every` tokens: one replaced, one added, one left out, in turn. New tokens count from `fresh` on. */
export function edited(tokens, every, fresh) {
  return tokens.flatMap((token, i) => {
    if (i % every !== every - 1) return [token];
    const edit = Math.floor(i / every) % 3;
    return edit === 0 ? [fresh + i] : edit === 1 ? [fresh + i, token] : [];
  });
}

/**
 * Makes a session write `tokens` at temperature 0, from position 0 on: after the last layer, each row becomes the embedding of the token
 * that follows. For models whose head is their embeddings.
 */
export async function dictate(model, session, tokens) {
  const { layers, hiddenSize } = model.info;
  const embeddings = new Float32Array(tokens.length * hiddenSize);
  const reader = model.session();
  reader.onLayer((layer, residual, first) => {
    if (layer === 0) embeddings.set(residual, first * hiddenSize);
  });
  await reader.append(tokens);
  reader.dispose();
  session.onLayer((layer, residual, first) => {
    if (layer < layers.length) return;
    const next = embeddings.subarray((first + 1) * hiddenSize);
    residual.set(next.subarray(0, residual.length));
  });
}
