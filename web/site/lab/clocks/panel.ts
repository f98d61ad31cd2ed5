// Panel 2: the pairs of a model's heads as clocks, and their wavelengths against the trained length.
import { type Description, overrideRopeConfig, type Rope } from "ropewalk";
import { drawChart, pairTicks, Plot } from "../../page/chart.js";
import { listConfigs } from "../../page/config_list.js";
import type { NamedConfig } from "../../page/configs.js";
import { controlOf, numberIn, showOutputs } from "../../page/controls.js";
import { find, shown } from "../../page/elements.js";
import { type Clock, drawClocks, turnHands } from "./faces.js";
import type { Mount } from "../panel.js";
import { playButton } from "../play_button.js";
import "./panel.css";

/** What is drawn until another config is chosen. */
interface View {
  readonly chosen: NamedConfig;
  readonly isScaled: boolean;
  readonly rope: Rope;
  readonly description: Description;
  /** Trained length; undefined if the config has none. */
  readonly length: number | undefined;
  readonly width: number;
}

/** The largest position for a config without a length. */
const LARGEST_POSITION = 32768;

/** @see lab/clocks/panel.html */
export const mount: Mount = ({ section, form, rw, redraw }) => {
  const chosen = listConfigs({ section, form, rw, redraw });
  const position = controlOf(form, "position");
  const hands = find("#clocks-hands", section);
  let view: View | undefined;

  const viewOf = (named: NamedConfig, isScaled: boolean): View => {
    const window = rw.describe(named.config).window ?? undefined;
    const unscaled = { rope_scaling: null, max_position_embeddings: window ?? null };
    const config = isScaled ? named.config : overrideRopeConfig(named.config, unscaled);
    // a model that ships with a scaling was trained for the longer context too
    const length = config.max_position_embeddings ?? window;
    const rope = rw.rope(config);
    const description = rope.describe(length ?? 1);
    return { chosen: named, isScaled, rope, description, length, width: section.clientWidth };
  };
  playButton(find("[data-action=play]", form), position, () => numberIn(form, "speed"), redraw);

  return async () => {
    const named = (await chosen())!;
    const isScaled = controlOf(form, "scaled").checked;
    if (view?.chosen !== named || view.isScaled !== isScaled || view.width !== section.clientWidth) {
      view?.rope.dispose();
      view = viewOf(named, isScaled);
      find("[data-shown-if=scaled]", form).hidden = rw.describe(named.config).rope_type === "default";
      position.max = String(view.length ?? LARGEST_POSITION);
      drawClocks(find(".clocks", hands), clocksOf(view));
      drawWavelengths(find("#clocks-wavelengths", section), view);
    }
    const at = Number(position.value);
    showOutputs(form, { position: shown(at) });
    turnHands(find(".clocks", hands), anglesAt(view, at));
    find("figcaption", hands).textContent = handsText(view, at);
  };
};

function isComplete({ length }: View, { wavelength }: { wavelength: number }): boolean {
  return length === undefined || wavelength <= length;
}

function clocksOf(view: View): Clock[] {
  return view.description.pairs.map((pair) => ({
    name: String(pair.pair),
    title: `pair ${pair.pair}: a turn takes ${shown(pair.wavelength, 3)} tokens`,
    reached: isComplete(view, pair) ? 1 : view.length! / pair.wavelength,
  }));
}

/** Cosine and sine of each pair's angle at a position. */
function anglesAt({ rope, description: { plan, seqLen } }: View, position: number): { cos: number; sin: number }[] {
  const { cos, sin } = rope.table(Array<number>(rope.axes).fill(position), { seqLen });
  return Array.from(plan.inv_freq, (_, pair) => ({
    cos: cos[pair]! / plan.attention_factor,
    sin: sin[pair]! / plan.attention_factor,
  }));
}

function handsText({ description: { pairs } }: View, position: number): string {
  const turns = (pair: (typeof pairs)[number]): string => shown(position / pair.wavelength, 3);
  const [first, last] = [pairs[0]!, pairs.at(-1)!];
  return (
    `At position ${shown(position)}, pair ${first.pair} has made ${turns(first)} turns, and pair ${last.pair} ` +
    `${turns(last)} turns. Below each clock is the number of its pair.`
  );
}

function drawWavelengths(figure: HTMLElement, view: View): void {
  const { pairs } = view.description;
  const rotating = pairs.filter(({ wavelength }) => Number.isFinite(wavelength));
  const points = rotating.map((pair) => ({
    ...pair,
    color: isComplete(view, pair) ? "var(--kept)" : "var(--interpolated)",
  }));
  const lines = view.length === undefined ? [] : [view.length];
  drawChart(figure, "Wavelength of each pair", wavelengthText(view), {
    height: 300,
    marginTop: 30,
    x: { label: "pair, fastest first", labelAnchor: "center", ...pairTicks(pairs.length) },
    y: { type: "log", label: "tokens per turn", grid: true, ticks: powersOfTen(rotating), tickFormat: "~s" },
    marks: [
      Plot.ruleY(lines, { stroke: "var(--chosen)", strokeWidth: 2 }),
      Plot.text(lines, {
        y: (length: number) => length,
        text: (length: number) => `trained length: ${shown(length)} tokens`,
        frameAnchor: "left",
        dx: 6,
        dy: -9,
        textAnchor: "start",
        fill: "var(--chosen)",
      }),
      Plot.dot(points, { x: "pair", y: "wavelength", fill: "color", r: 3.5 }),
      Plot.tip(
        points,
        Plot.pointer({
          x: "pair",
          y: "wavelength",
          fill: "var(--raised)",
          stroke: "var(--line)",
          title: ({ pair, wavelength }: { pair: number; wavelength: number }) =>
            `pair ${pair}\n${shown(wavelength, 3)} tokens per turn`,
        }),
      ),
    ],
  });
}

/** Powers of ten among the wavelengths. */
function powersOfTen(pairs: readonly { wavelength: number }[]): number[] {
  const powers = Array.from({ length: 12 }, (_, power) => 10 ** power);
  return powers.filter((power) => power >= pairs[0]!.wavelength && power <= (pairs.at(-1)?.wavelength ?? 0));
}

function wavelengthText(view: View): string {
  const { chosen, length, isScaled, description } = view;
  const { pairs, rope_type } = description;
  const still = pairs.filter(({ wavelength }) => !Number.isFinite(wavelength)).length;
  const rotating = pairs.filter(({ wavelength }) => Number.isFinite(wavelength));
  const [first, last] = [rotating[0]!, rotating.at(-1)!];
  const scaling = rope_type === "default" || !isScaled ? "" : ` with its ${rope_type} scaling`;
  const turns =
    `a turn takes ${shown(first.wavelength, 4)} tokens in pair ${first.pair} and ${shown(last.wavelength, 4)} ` +
    `tokens in pair ${last.pair}.`;
  const slow = length === undefined ? undefined : rotating.filter((pair) => !isComplete(view, pair)).length;
  const count =
    slow === undefined
      ? "The config has no trained length."
      : `${slow} of ${pairs.length} pairs never complete a turn within ${shown(length!)} tokens.`;
  return `${chosen.name}${scaling}: ${turns} ${count}${still > 0 ? ` ${still} pairs aren't rotated at all.` : ""}`;
}
