// Reads the settings, creates the plain and the scaled rope, and draws both.
import { load, ropeConfig } from "../../dist/index.js";
import { drawDecay } from "./decay_chart.js";
import { drawPairs, fillTable } from "./pair_chart.js";
import { drawRotation } from "./rotated_pairs.js";

const byId = (id) => document.getElementById(id);
const { model, type, factor } = byId("settings").elements;
const layer_type = "full_attention"; // in models that also have sliding-window layers

const rw = await load().catch((error) => {
  report(error);
  throw error;
});
byId("build").textContent = rw.build;

const readConfig = async ({ value }) => [value, await (await fetch(`../configs/${value}.json`)).json()];
const files = Object.fromEntries(await Promise.all(Array.from(model.options, readConfig)));

/** Plain RoPE and the chosen scaling of the model, each with the sequence length that its plan is for. */
function readSettings() {
  const file = files[model.value];
  const released = ropeConfig(file, { layer_type });
  const { window: trained, plan } = rw.describe(released);
  const isReleased = type.value === "released";
  const length = isReleased ? plan.max_length : trained * Number(factor.value);
  const extended = (scaling, max_position_embeddings) => {
    const rope_scaling = { original_max_position_embeddings: trained, replace: true, ...scaling };
    return ropeConfig(file, { layer_type, overrides: { max_position_embeddings, rope_scaling } });
  };
  // dynamic scaling starts at the trained length; for the others this is the extended length
  const maxLength = type.value === "dynamic" ? trained : length;
  const scaled = isReleased ? released : extended({ rope_type: type.value, factor: Number(factor.value) }, maxLength);
  return { plain: extended({ rope_type: "default" }, trained), scaled, trained, length };
}

let shown; // the two curves on the page, and the description of the second

function update() {
  factor.disabled = type.value === "released";
  const { plain, scaled, trained, length } = readSettings();
  const description = rw.describe(scaled, length);
  const curves = [
    { name: "plain", rope: rw.rope(plain), seqLen: trained },
    { name: "chosen", rope: rw.rope(scaled), seqLen: length },
  ];
  for (const { rope } of shown?.curves ?? []) rope.dispose();
  shown = { curves, description, trained, length, limit: description.decay_limit };
  writeFacts(shown);
  fillTable(byId("rows"), description.pairs);
  draw();
}

function writeFacts({ curves, description, trained, length, limit }) {
  const { plan, counts, factor: stretch, warnings } = description;
  const grouped = (value, digits = 15) =>
    Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
  const facts = {
    "trained positions": grouped(trained),
    "extended positions": grouped(length),
    "scaling of the plan": `× ${grouped(stretch, 4)}`,
    "attention factor": grouped(plan.attention_factor, 5),
    "softmax scale": grouped(plan.softmax_scale, 4),
    pairing: plan.pairing.replaceAll("_", " "),
  };
  byId("facts").replaceChildren(
    ...Object.entries(facts).map(([name, value]) => {
      const fact = document.createElement("div");
      fact.append(withText("dt", name), withText("dd", value));
      return fact;
    }),
  );
  byId("warnings").replaceChildren(...warnings.map((warning) => withText("li", warning)));

  const [unscaled, scaled] = curves.map(({ rope, seqLen }) => rope.firstNegativeDistance(limit, seqLen));
  const falls = (distance) =>
    distance === null ? `above zero up to ${grouped(limit)}` : `first below zero at distance ${grouped(distance)}`;
  byId("decay-text").textContent = `Unscaled, the score is ${falls(unscaled)}; scaled, it is ${falls(scaled)}.`;
  const treated = Object.entries(counts).filter(([, count]) => count > 0);
  byId("pairs-text").textContent =
    `Of ${description.pairs.length} pairs: ${treated.map(([treatment, count]) => `${count} ${treatment}`).join(", ")}.`;
  byId("treatments").replaceChildren(
    ...treated.map(([treatment]) => Object.assign(withText("li", treatment), { className: treatment })),
  );
}

function withText(tag, textContent) {
  return Object.assign(document.createElement(tag), { textContent });
}

function draw() {
  if (shown === undefined || byId("decay").clientWidth === 0) return; // nothing to draw yet, or no space for it
  const { curves, description, trained, length, limit } = shown;
  const marks = [
    { distance: trained, text: "trained" },
    { distance: length, text: "extended" },
  ];
  drawDecay(byId("decay"), curves, limit, length > trained ? marks : marks.slice(0, 1));
  drawPairs(byId("pairs"), description.pairs);
  drawPosition();
}

/** The slider is logarithmic in the position. */
function drawPosition() {
  const { curves, description, length } = shown;
  const position = Math.round(length ** (byId("position").value / byId("position").max)) - 1;
  byId("position-shown").textContent = position.toLocaleString("en");
  drawRotation(
    byId("rotation"),
    curves,
    description.pairs.map(({ wavelength }) => wavelength),
    position,
  );
}

function show() {
  try {
    update();
    byId("problem").hidden = true;
  } catch (error) {
    report(error);
  }
}

function report({ message }) {
  byId("problem").textContent = message;
  byId("problem").hidden = false;
}

byId("settings").addEventListener("change", show);
byId("position").addEventListener("input", drawPosition);
show();
new ResizeObserver(draw).observe(byId("settings")); // which is as wide as the drawings
