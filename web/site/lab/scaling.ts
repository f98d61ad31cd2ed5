// Panel 5: the scalings that let a model read more than it was trained on, over one another.
import { find, shown, withText } from "../page/elements.js";
import { isChecked, numberOf, textOf, writeOutputs } from "./controls.js";
import type { Mount } from "./panel.js";
import { drawDecay } from "./scaling_decay.js";
import { type Curve, type Lengths, newAngles, Scalings, type Settings } from "./scaling_kinds.js";
import { dragLimits, drawRamp } from "./scaling_ramp.js";
import { drawWeights, scoreFactor } from "./scaling_weights.js";
import "./scaling.css";

const files = import.meta.glob<object>("../../../examples/configs/*.json", { eager: true, import: "default" });

/** @see lab/scaling.html */
export const mount: Mount = ({ section, form, rw }) => {
  const scalings = new Scalings(rw);
  const ramp = find<HTMLElement>("#scaling-ramp", section);
  let trained = 1;
  dragLimits(ramp, form, () => trained);

  return () => {
    const settings: Settings = {
      file: files[`../../../examples/configs/${textOf(form, "model")}.json`]!,
      factor: numberOf(form, "factor"),
      share: numberOf(form, "length") / 100,
      betaFast: numberOf(form, "beta_fast"),
      betaSlow: numberOf(form, "beta_slow"),
      power: numberOf(form, "power"),
    };
    const { curves, lengths } = scalings.curves(settings);
    trained = lengths.trained;
    const plain = curves[0]!;
    const longrope = form.elements.namedItem("longrope") as HTMLInputElement;
    longrope.disabled = curves.every(({ id }) => id !== "longrope");
    const chosen = curves.filter(({ id }) => id !== "plain" && isChecked(form, id));
    const hasRamp = chosen.some(({ id }) => id === "yarn" || id === "ntk_by_parts");
    find<HTMLElement>("[data-for=custom]", form).hidden = !isChecked(form, "custom");
    writeOutputs(form, {
      length: `${shown(lengths.text)} tokens`,
      beta_fast: `${shown(settings.betaFast)} rotations`,
      beta_slow: `${shown(settings.betaSlow)} ${settings.betaSlow === 1 ? "rotation" : "rotations"}`,
      power: shown(settings.power),
    });

    drawRamp(ramp, chosen, plain, lengths, hasRamp ? { fast: settings.betaFast, slow: settings.betaSlow } : null);
    drawDecay(find<HTMLElement>("#scaling-decay", section), [plain, ...chosen], lengths);
    drawWeights(find<HTMLElement>("#scaling-weights", section), rw, curves, lengths);
    fillTable(find("tbody", section), [plain, ...chosen], lengths);
  };
};

function fillTable(body: HTMLElement, curves: readonly Curve[], { text }: Lengths): void {
  const rows = curves.map((curve) => {
    const { id, name, description } = curve;
    const { counts, plan } = description;
    const cells = [
      description.factor,
      counts.kept,
      counts.blended + counts.scaled,
      counts.interpolated,
      newAngles(description, text).length,
      plan.attention_factor,
      scoreFactor(curve, curves[0]!),
    ];
    const row = document.createElement("tr");
    row.dataset["scaling"] = id;
    row.append(
      Object.assign(withText("th", name), { scope: "row" }),
      ...cells.map((cell) => withText("td", shown(cell, 4))),
    );
    return row;
  });
  body.replaceChildren(...rows);
}
