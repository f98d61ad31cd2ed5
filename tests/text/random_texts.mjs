// The texts of encoder_vocabularies.json, by the generator of make_encoder_vocabularies.py.

/** A text by its number. */
export function randomText(seed, { pieces, ranges }) {
  let state = seed;
  const below = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  let text = "";
  for (let left = [1, 2, 4, 8, 16, 40][below(6)]; left > 0; left--) {
    const kind = below(16);
    if (kind < 10) text += pieces[below(pieces.length)];
    else if (kind < 13) {
      const [first, end] = ranges[below(ranges.length)];
      text += String.fromCodePoint(first + below(end - first));
    } else if (kind < 15) text += ` ${pieces[below(8)]}`;
    else text += "aéx縄"[below(4)].repeat(90 + below(30));
  }
  return text;
}
