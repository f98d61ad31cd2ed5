// Perplexity of a pasted text by position, under several scalings.
import { textOf } from "../../../examples/small_model/texts.mjs";
import { drawChart, Plot } from "../page/chart.js";
import { find, shown, withText } from "../page/elements.js";
import { recordedRecall } from "./recall.js";
import { percentText } from "../page/units.js";
import type { WorkerModel } from "ropewalk/worker";
import type { Conversation } from "./conversation.js";
import { LABELS, layersToChange, overridesFor } from "./scaling.js";

/** Points of a curve, at most. */
const POINTS = 40;
/** Words of the story: eight times the trained length of the small model, where the scalings differ most. */
const STORY_WORDS = 2048;
/** What is measured of a model that has nothing to scale. */
const WITHOUT_ROPE = "without RoPE";
const nameOf = (scaling: string): string => LABELS[scaling] ?? scaling;
const colorOf = (scaling: string): string => `var(--${scaling in LABELS && scaling !== "none" ? scaling : "plain"})`;

interface Curve {
  readonly scaling: string;
  readonly color: string;
  readonly perplexity: number;
  readonly points: { position: number; perplexity: number }[];
}

/** Connects the form. `conversation` returns the one that is open. */
export function startPerplexity(conversation: () => Conversation | undefined): void {
  const form = find<HTMLFormElement>("#measure");
  const text = find<HTMLTextAreaElement>("#measured");
  const state = find("#measure-state");
  const stop = find<HTMLButtonElement>("#measure-stop");
  let measuring: AbortController | undefined;
  find("#sample").addEventListener("click", () => (text.value = textOf({ seed: 1, length: STORY_WORDS }).text));
  stop.addEventListener("click", () => measuring?.abort());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const current = conversation();
    if (current === undefined || measuring !== undefined) return;
    measuring = new AbortController();
    const { signal } = measuring;
    stop.disabled = false;
    const chosen = [...form.querySelectorAll<HTMLInputElement>("input:checked")].map(({ name }) => name);
    measure(current, text.value, chosen, signal, (progress) => (state.textContent = progress))
      .catch((error: unknown) => (state.textContent = signal.aborted ? "Stopped." : (error as Error).message))
      .finally(() => {
        measuring = undefined;
        stop.disabled = true;
      });
  });
}

async function measure(
  { model }: Conversation,
  text: string,
  chosen: string[],
  signal: AbortSignal,
  say: (progress: string) => void,
): Promise<void> {
  const tokens = await model.tokenizer.encode(text);
  if (tokens.length < 8) throw new Error("The text is too short: give at least 8 tokens.");
  const scalings = model.rope === null ? [WITHOUT_ROPE] : chosen;
  if (scalings.length === 0) throw new Error("Choose a scaling.");
  const start = performance.now();
  const curves: Curve[] = [];
  for (const scaling of scalings) {
    const kind = layersToChange(model);
    const { losses, perplexity } = await model.perplexity(tokens, {
      window: tokens.length,
      ...(model.rope === null ? {} : { rope: { [kind]: overridesFor(model, scaling, tokens.length) } }),
      signal,
      onProgress: ({ done, total }) => say(`${nameOf(scaling)}: ${done} of ${total} tokens`),
    });
    curves.push({ scaling, color: colorOf(scaling), perplexity, points: pointsOf(losses) });
    draw(curves, tokens.length, model.info.trainedLength);
  }
  await showRecall(model.info, curves, tokens.length);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const under = model.rope === null ? "" : ` under ${scalings.length} scalings`;
  say(`${tokens.length.toLocaleString("en")} tokens${under} in ${seconds} s.`);
}

/** Shows perplexity beside recall, which is recorded for the small example model. */
async function showRecall(info: WorkerModel["info"], curves: readonly Curve[], length: number): Promise<void> {
  const recall = await recordedRecall(info, length);
  find("#recall").hidden = recall === undefined;
  if (recall === undefined) return;
  find("#recall tbody").replaceChildren(
    ...curves.map(({ scaling, perplexity }) => {
      const row = document.createElement("tr");
      const share = recall.get(scaling);
      const cells = [shown(perplexity, 3), share === undefined ? "–" : percentText(share)];
      row.append(
        Object.assign(withText("th", nameOf(scaling)), { scope: "row" }),
        ...cells.map((text) => withText("td", text)),
      );
      return row;
    }),
  );
}

/** exp of the mean loss of equally many tokens each. */
function pointsOf(losses: Float64Array): { position: number; perplexity: number }[] {
  const step = Math.max(8, Math.ceil(losses.length / POINTS));
  return Array.from({ length: Math.ceil(losses.length / step) }, (_, i) => {
    const some = losses.subarray(i * step, (i + 1) * step).filter((loss) => !Number.isNaN(loss));
    const mean = some.reduce((sum, loss) => sum + loss, 0) / some.length;
    return { position: i * step + some.length / 2, perplexity: Math.exp(mean) };
  });
}

function draw(curves: Curve[], length: number, trained: number): void {
  const figure = find("#perplexity-chart");
  figure.hidden = false;
  find(".legend", figure).replaceChildren(
    ...curves.map(({ scaling, color }) => {
      const item = withText("li", nameOf(scaling));
      item.style.setProperty("--color", color);
      return item;
    }),
  );
  const values = curves.map(({ scaling, perplexity }) => `${nameOf(scaling)} ${shown(perplexity, 4)}`).join(", ");
  const where = length > trained ? ` The dashed line is the trained length, ${trained.toLocaleString("en")}.` : "";
  drawChart(figure, "Perplexity by position", `Perplexity of the whole text: ${values}.${where}`, {
    height: 300,
    x: { domain: [0, length], label: "token" },
    y: { type: "log", label: "perplexity", grid: true, ticks: 5, tickFormat: "~s" },
    marks: [
      ...(length > trained ? [Plot.ruleX([trained], { stroke: "var(--faint)", strokeDasharray: "4 4" })] : []),
      ...curves.map(({ points, color }) =>
        Plot.line(points, { x: "position", y: "perplexity", stroke: color, strokeWidth: 2 }),
      ),
    ],
  });
}
