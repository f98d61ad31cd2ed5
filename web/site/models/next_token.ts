// The most probable next tokens of a conversation.
import { drawChart, Plot } from "../page/chart.js";
import { find } from "../page/elements.js";
import { percentText } from "../page/units.js";
import type { Conversation } from "./conversation.js";
import { readableToken } from "./token_text.js";

const COUNT = 10;

/** A next token. */
interface Candidate {
  readonly token: number;
  readonly text: string;
  readonly probability: number;
  readonly logit: number;
}

/** The candidates shown now. */
let present: { tokens: number; candidates: Candidate[] } | undefined;

/** Forgets what is shown, when another model is opened. */
export function forgetNext(): void {
  present = undefined;
}

/** Draws the candidates, with their probabilities before the last change of the scaling. */
export async function showNext({ session, model }: Conversation): Promise<void> {
  const figure = find("#next-chart");
  if (session.length === 0) {
    find(".chart", figure).replaceChildren();
    find("figcaption", figure).textContent = "Send a message first.";
    forgetNext();
    return;
  }
  const [logits, probable] = await Promise.all([session.logits(), session.logprobs(COUNT)]);
  const candidates = await Promise.all(
    probable.map(async ({ token, logprob }) => ({
      token,
      text: await readableToken(model, token),
      probability: Math.exp(logprob),
      logit: logits[token]!,
    })),
  );
  const before = present?.tokens === session.length ? present.candidates : [];
  present = { tokens: session.length, candidates };
  draw(figure, candidates, before);
}

function draw(figure: HTMLElement, candidates: Candidate[], before: Candidate[]): void {
  const rows = candidates.map((candidate, rank) => ({ ...candidate, row: `${rank + 1}. ${candidate.text}` }));
  const earlier = rows.flatMap(({ token, row }) => {
    const old = before.find((one) => one.token === token);
    return old === undefined ? [] : [{ row, probability: old.probability }];
  });
  const [first] = candidates;
  drawChart(
    figure,
    "The most probable next tokens",
    `Most probable: “${first!.text}” with ${percent(first!.probability)} and logit ${first!.logit.toFixed(2)}. Each bar has its probability and its logit.`,
    {
      height: 26 * rows.length + 50,
      marginLeft: Math.min(150, 30 + 9 * Math.max(...rows.map(({ row }) => row.length))),
      marginRight: 110,
      x: { domain: [0, 1], label: "probability", tickFormat: percent, ticks: [0, 0.5, 1] },
      y: { domain: rows.map(({ row }) => row), label: null, tickSize: 0 },
      marks: [
        Plot.barX(rows, { y: "row", x: "probability", fill: "var(--chosen)", insetTop: 3, insetBottom: 3 }),
        Plot.tickX(earlier, { y: "row", x: "probability", stroke: "var(--trained)", strokeWidth: 4 }),
        Plot.text(rows, {
          y: "row",
          x: "probability",
          text: ({ probability, logit }: Candidate) => `${percent(probability)}  ${logit.toFixed(2)}`,
          textAnchor: "start",
          dx: 8,
        }),
      ],
    },
  );
}

const percent = (share: number): string => percentText(share, 3);
