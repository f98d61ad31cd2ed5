// Pieces of the pages of docs/ that scripts print.

const WIDTH = 120;

/** Words in lines of at most WIDTH characters. */
export function wrapped(words) {
  const lines = [""];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length <= WIDTH) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join("\n");
}
