// What --logprobs shows: each generated token with the most probable ones at its place.
import type { Piece, TokenProbability, Tokenizer } from "../../../index.node.js";
import type { Terminal } from "../terminal.js";

/** A generated token, and the most probable tokens at its place, before temperature and the other sampling options. */
export interface TokenLogprobs extends TokenProbability {
  alternatives: TokenProbability[];
}

export function logprobsOf(pieces: readonly Piece[], tokenizer: Pick<Tokenizer, "decode">): TokenLogprobs[] {
  return pieces.map(({ token, logprob, alternatives = [] }) => {
    const known = alternatives.find((one) => one.token === token);
    return { token, text: known?.text ?? tokenizer.decode([token], { skipSpecial: false }), logprob, alternatives };
  });
}

/** A line for each token. */
export function logprobsTable(terminal: Terminal, rows: readonly TokenLogprobs[]): string {
  const shown = ({ text, logprob }: TokenProbability): string => `${JSON.stringify(text)} ${percent(logprob)}`;
  return terminal.table(
    rows.map((row) => [
      String(row.token),
      JSON.stringify(row.text),
      percent(row.logprob),
      row.alternatives.map(shown).join("  "),
    ]),
    { head: ["token", "text", "probability", "most probable"], align: "rlrl" },
  );
}

const percent = (logprob: number): string => `${(100 * Math.exp(logprob)).toFixed(1)} %`;
