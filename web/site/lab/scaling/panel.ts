// Panel 5: the scalings that let a model read more than it was trained on, over one another.
import { listConfigs } from "../../page/config_list.js";
import { controlOf, numberIn, showOutputs } from "../../page/controls.js";
import { find, shown, withText } from "../../page/elements.js";
import type { Mount } from "../panel.js";
import { drawDecay } from "./decay.js";
import { type Curve, type Lengths, newAngles, Scalings, type Settings } from "./kinds.js";
import { dragLimits, drawRamp } from "./ramp.js";
import { drawWeights, scoreFactor } from "./weights.js";
import "./panel.css";

/** @see lab/scaling/panel.html */
export const mount: Mount = ({ section, form, rw, redraw }) => {
  const chosenConfig = listConfigs({ section, form, rw, redraw });
  const scalings = new Scalings(rw);
  const ramp = find("#scaling-ramp", section);
  let trained = 1;
  dragLimits(ramp, form, () => trained);

  return async () => {
    const { config } = (await chosenConfig())!;
    const settings: Settings = {
      config,
      factor: numberIn(form, "factor"),
      share: numberIn(form, "length") / 100,
      betaFast: numberIn(form, "beta_fast"),
      betaSlow: numberIn(form, "beta_slow"),
      power: numberIn(form, "power"),
    };
    const { curves, lengths } = scalings.curves(settings);
    trained = lengths.trained;
    const plain = curves[0]!;
    controlOf(form, "longrope").disabled = curves.every(({ id }) => id !== "longrope");
    const chosen = curves.filter(({ id }) => id !== "plain" && controlOf(form, id).checked);
    const hasRamp = chosen.some(({ id }) => id === "yarn" || id === "ntk_by_parts");
    find("[data-for=custom]", form).hidden = !controlOf(form, "custom").checked;
    showOutputs(form, {
      length: `${shown(lengths.text)} tokens`,
      beta_fast: `${shown(settings.betaFast)} rotations`,
      beta_slow: `${shown(settings.betaSlow)} ${settings.betaSlow === 1 ? "rotation" : "rotations"}`,
      power: shown(settings.power),
    });

    drawRamp(ramp, chosen, plain, lengths, hasRamp ? { fast: settings.betaFast, slow: settings.betaSlow } : null);
    drawDecay(find("#scaling-decay", section), [plain, ...chosen], lengths);
    drawWeights(find("#scaling-weights", section), rw, curves, lengths);
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
      scoreFactor(plan, curves[0]!.description.plan),
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
