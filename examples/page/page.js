// Reads the settings, makes two ropes of them, and hands both to the drawings.
import { load, ropeConfig } from "../../dist/index.js";
import { drawDecay } from "./decay_chart.js";
import { drawPairs, fillTable } from "./pair_chart.js";
import { drawTurning } from "./turning_pairs.js";

const at = (id) => document.getElementById(id);
const { model, type, factor } = at("settings").elements;
const layer_type = "full_attention"; // the layers that see the whole context, in models that have others too

const rw = await load().catch((error) => {
  report(error);
  throw error;
});
at("build").textContent = rw.build;

const readConfig = async ({ value }) => [value, await (await fetch(`../configs/${value}.json`)).json()];
const files = Object.fromEntries(await Promise.all(Array.from(model.options, readConfig)));

/** What the settings mean: plain RoPE and the chosen scaling of the model, each with the length it is planned for. */
function readSettings() {
  const file = files[model.value];
  const released = ropeConfig(file, { layer_type });
  const { window: trained, plan } = rw.describe(released);
  const isReleased = type.value === "released";
  const length = isReleased ? plan.max_length : trained * Number(factor.value);
  const stretched = (scaling, max_position_embeddings) => {
    const rope_scaling = { original_max_position_embeddings: trained, replace: true, ...scaling };
    return ropeConfig(file, { layer_type, overrides: { max_position_embeddings, rope_scaling } });
  };
  // dynamic scaling counts from the trained length, the others name the length they serve
  const served = type.value === "dynamic" ? trained : length;
  const scaled = isReleased ? released : stretched({ rope_type: type.value, factor: Number(factor.value) }, served);
  return { plain: stretched({ rope_type: "default" }, trained), scaled, trained, length };
}

let shown; // what is on the page: two curves and the description of the second

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
  fillTable(at("rows"), description.pairs);
  draw();
}

function writeFacts({ curves, description, trained, length, limit }) {
  const { plan, counts, factor: stretch, warnings } = description;
  const grouped = (value, digits = 15) =>
    Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
  const facts = {
    "trained positions": grouped(trained),
    "stretched positions": grouped(length),
    "stretch of the plan": `× ${grouped(stretch, 4)}`,
    "attention factor": grouped(plan.attention_factor, 5),
    "softmax scale": grouped(plan.softmax_scale, 4),
    pairing: plan.pairing.replaceAll("_", " "),
  };
  at("facts").replaceChildren(
    ...Object.entries(facts).map(([name, value]) => {
      const fact = document.createElement("div");
      fact.append(withText("dt", name), withText("dd", value));
      return fact;
    }),
  );
  at("warnings").replaceChildren(...warnings.map((warning) => withText("li", warning)));

  const [unscaled, scaled] = curves.map(({ rope, seqLen }) => rope.firstNegativeDistance(limit, seqLen));
  const falls = (distance) =>
    distance === null ? `above zero up to ${grouped(limit)}` : `first below zero at distance ${grouped(distance)}`;
  at("decay-text").textContent = `Unscaled, the score is ${falls(unscaled)}; scaled, it is ${falls(scaled)}.`;
  const treated = Object.entries(counts).filter(([, count]) => count > 0);
  at("pairs-text").textContent =
    `Of ${description.pairs.length} pairs: ${treated.map(([treatment, count]) => `${count} ${treatment}`).join(", ")}.`;
  at("treatments").replaceChildren(
    ...treated.map(([treatment]) => Object.assign(withText("li", treatment), { className: treatment })),
  );
}

function withText(tag, textContent) {
  return Object.assign(document.createElement(tag), { textContent });
}

function draw() {
  if (shown === undefined || at("decay").clientWidth === 0) return; // nothing to show, or nowhere
  const { curves, description, trained, length, limit } = shown;
  const marks = [
    { distance: trained, text: "trained" },
    { distance: length, text: "stretched" },
  ];
  drawDecay(at("decay"), curves, limit, length > trained ? marks : marks.slice(0, 1));
  drawPairs(at("pairs"), description.pairs);
  drawPosition();
}

/** The slider runs over the logarithm of the position. */
function drawPosition() {
  const { curves, description, length } = shown;
  const position = Math.round(length ** (at("position").value / at("position").max)) - 1;
  at("position-shown").textContent = position.toLocaleString("en");
  drawTurning(
    at("turning"),
    curves,
    description.pairs.map(({ wavelength }) => wavelength),
    position,
  );
}

function show() {
  try {
    update();
    at("problem").hidden = true;
  } catch (error) {
    report(error);
  }
}

function report({ message }) {
  at("problem").textContent = message;
  at("problem").hidden = false;
}

at("settings").addEventListener("change", show);
at("position").addEventListener("input", drawPosition);
show();
new ResizeObserver(draw).observe(at("settings")); // as wide as the drawings
