// What the heads of the open model read for the next token: the attention weights of the last token of the conversation.
import type { WorkerModel } from "ropewalk/worker";
import { type ChosenMark, drawHead, drawHeads, type Reading, weightsText } from "../page/attention_charts.js";
import { find } from "../page/elements.js";
import { percentText } from "../page/units.js";
import { readableToken } from "./token_text.js";
import type { Conversation } from "./conversation.js";

/** Tokens with larger weights than this are named in the charts. */
const MIN_NAMED = 0.02;
const WITHOUT_ATTENTION =
  "This model has no attention. Its layers are recurrent: they read each token once, into states of a fixed size.";
/** Most heads read some of so many last tokens. */
const NEAR = 8;

const form = find<HTMLFormElement>("#attention-form");
const control = (name: string): HTMLInputElement => form.elements.namedItem(name) as HTMLInputElement;
const show = (name: string, text: string): void => {
  find(`output[data-of="${name}"]`, form).textContent = text;
};

/** The weights of a layer under a scaling. */
interface Shown {
  readonly tokens: number;
  readonly layer: number;
  readonly scaling: string;
  readonly heads: ReadonlyMap<string, Float32Array>;
  /** The same before the last change of the scaling. */
  readonly before?: Shown;
}

let present: Shown | undefined;
/** The texts of the tokens that are named, by token id. */
let texts = new Map<number, string>();
/** Kinds of layers with attention. Others have no weights to show. */
const ATTENDING: readonly string[] = ["full_attention", "sliding_attention", "hybrid"];
/** Indices of the layers with attention. */
const attendingLayers = ({ info }: WorkerModel): number[] =>
  info.layers.flatMap(({ kind }, layer) => (ATTENDING.includes(kind) ? [layer] : []));

/** Number of the newest drawing: an older one that ends later isn't shown. */
let newest = 0;

/** Whether the reader has chosen a layer, a head or a token: then it stays. */
let isChosen = false;

/** Forgets what is shown, when another model is opened. */
export function forgetAttention(): void {
  present = undefined;
  texts = new Map();
  isChosen = false;
  newest++;
}

/** Draws the weights, with those before the last change of the scaling. */
export async function showAttention({ session, model }: Conversation, scaling: string): Promise<void> {
  const number = ++newest;
  const attending = attendingLayers(model);
  const isEmpty = session.length === 0 || attending.length === 0;
  find("#attention-charts").hidden = isEmpty;
  find("#attention-empty").hidden = !isEmpty;
  if (isEmpty) {
    find("#attention-empty").textContent = attending.length === 0 ? WITHOUT_ATTENTION : "Send a message first.";
    present = undefined;
    return;
  }
  const all = model.info.layers.length;
  control("layer").max = String(attending.length);
  if (!isChosen && present?.tokens !== session.length) await chooseHead({ session, model });
  if (number !== newest) return;
  const layer = attending[control("layer").valueAsNumber - 1]!;
  const [weights, tokens] = await Promise.all([session.attention(layer), session.tokens]);
  if (number !== newest) return;
  control("head").max = String(weights.length);
  control("token").max = String(tokens.length - 1);
  const head = control("head").valueAsNumber;
  const row = weights[head - 1]!;
  const largest = row.indexOf(row.reduce((a, b) => Math.max(a, b)));
  if (!isChosen && present?.tokens !== tokens.length) control("token").value = String(largest);
  const token = control("token").valueAsNumber;
  const heads = new Map(weights.map((of, i) => [String(i + 1), of]));

  present = { tokens: tokens.length, layer, scaling, heads, ...beforeOf(present, tokens.length, layer, scaling) };
  const { before } = present;
  const readings: Reading[] =
    before === undefined
      ? [{ name: scaling, heads }]
      : [
          { name: before.scaling, heads: before.heads },
          { name: scaling, heads },
        ];

  await readTexts(model, tokens, readings, token);
  if (number !== newest) return;
  const textOf = (at: number): string => texts.get(tokens[at]!) ?? "";
  const others = attending.length === all ? "" : ` (${all - attending.length} of ${all} layers have no attention)`;
  show("layer", `${layer + 1}${others}`);
  control("layer").setAttribute("aria-valuetext", String(layer + 1));
  show("head", String(head));
  show("token", `${token}, “${textOf(token)}”`);
  const picture = { readings, head: String(head), token, textOf };
  drawHeads(
    find("#attention-heads"),
    `Layer ${layer + 1} of ${all}: each row is a head, each mark a token that it reads with a weight of 2\u00a0% or more, larger for a larger weight. ${averageText(readings)}`,
    picture,
  );
  drawHead(
    find("#attention-head"),
    `Head ${head} reads “${textOf(largest)}” at token ${largest} most (${percentText(row[largest]!)}). Token ${token}, “${textOf(token)}”: ${weightsText(
      readings,
      readings.map(({ heads: of }) => of.get(String(head))![token]!),
    )}.`,
    picture,
  );
}

/** Chooses the head that reads a token before the last ones with the largest weight: heads that find facts do. */
async function chooseHead({ session, model }: Pick<Conversation, "session" | "model">): Promise<void> {
  const layers = await Promise.all(attendingLayers(model).map((layer) => session.attention(layer)));
  const last = session.length - NEAR;
  let largest = 0;
  for (const [layer, heads] of layers.entries()) {
    for (const [head, weights] of heads.entries()) {
      const most = weights.subarray(1, Math.max(1, last)).reduce((a, b) => Math.max(a, b), 0);
      if (most <= largest) continue;
      largest = most;
      control("layer").value = String(layer + 1);
      control("head").max = String(heads.length);
      control("head").value = String(head + 1);
    }
  }
}

/** What was shown before the last change of the scaling, if it was of the same layer and text. */
function beforeOf(last: Shown | undefined, tokens: number, layer: number, scaling: string): { before?: Shown } {
  if (last === undefined || last.tokens !== tokens || last.layer !== layer) return {};
  if (last.scaling !== scaling) return { before: { tokens, layer, scaling: last.scaling, heads: last.heads } };
  return last.before === undefined ? {} : { before: last.before };
}

/** What most heads of many models read: the first token, as a place for weight that they don't need. */
function averageText(readings: readonly Reading[]): string {
  const means = readings.map(({ heads }) => [...heads.values()].reduce((sum, row) => sum + row[0]!, 0) / heads.size);
  if (Math.max(...means) < MIN_NAMED) return "";
  return `In the mean of these heads, the first token gets ${weightsText(readings, means)}.`;
}

/** Asks the Worker for the texts of the tokens that the charts name. */
async function readTexts(
  model: WorkerModel,
  tokens: readonly number[],
  readings: readonly Reading[],
  chosen: number,
): Promise<void> {
  const places = new Set([chosen]);
  for (const { heads } of readings) {
    for (const row of heads.values()) {
      for (const [at, weight] of row.entries()) if (weight > MIN_NAMED) places.add(at);
    }
  }
  const missing = new Set([...places].map((at) => tokens[at]!).filter((token) => !texts.has(token)));
  await Promise.all([...missing].map(async (token) => texts.set(token, await readableToken(model, token))));
}

/** Calls `redraw` when the reader chooses a layer, a head or a token. */
export function startAttention(redraw: () => void): void {
  form.addEventListener("input", () => {
    isChosen = true;
    redraw();
  });
  find("#attention-heads").addEventListener("click", () => {
    const { value } = find<HTMLElement & { value?: ChosenMark }>("#attention-heads .chart > *");
    if (value == null) return;
    for (const [name, chosen] of Object.entries(value))
      if (name === "head" || name === "token") control(name).value = String(chosen);
    control("token").dispatchEvent(new Event("input", { bubbles: true }));
  });
}
