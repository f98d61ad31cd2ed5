// The page of the induction head: a text to type, where both heads look, and the hands of the rotated pairs.
import { anglesOf, letterAt, runHeads, SCALINGS, SIZE } from "./heads.js";

const START = "the cat sat on the mat. the c";
const TITLES = { plain: "none", linear: "linear × 8", yarn: "YaRN × 8" };
const element = (id) => document.getElementById(id);
const text = element("text");
let scaling = "plain";
let chosen; // a position; undefined: the last
let guessed;

const percent = (share) => `${Math.round(share * 100)} %`;
const shown = (letter) => (letter === " " ? "␣" : letter);

/** Letters as buttons, each as dark as the weight that the chosen one gives it. */
function drawLetters(id, weights, at) {
  const buttons = Array.from(text.value, (letter, position) => {
    const button = document.createElement("button");
    button.textContent = shown(letter);
    button.style.setProperty("--weight", position <= at ? weights[at * SIZE + position] : 0);
    button.setAttribute("aria-label", `${letter}, position ${position}`);
    button.setAttribute("aria-pressed", String(position === at));
    button.onclick = () => {
      chosen = position;
      draw();
      element(id).children[position].focus();
    };
    return button;
  });
  element(id).replaceChildren(...buttons);
}

const hand = (angle, name) =>
  `<line class="${name}" x2="${(16 * Math.cos(angle)).toFixed(2)}" y2="${(-16 * Math.sin(angle)).toFixed(2)}" />`;

function drawDials(at) {
  const { query, key } = anglesOf(at, Math.max(at - 1, 0), scaling);
  element("dials").innerHTML = query
    .map(
      (angle, pair) =>
        `<svg viewBox="-20 -20 40 40" role="img" aria-label="pair ${pair}"><circle r="18" />${hand(angle, "query")}${hand(key[pair], "key")}</svg>`,
    )
    .join("");
}

/** Where head 1 looks, in words: the distance of the largest weight. */
function describe(weights, at) {
  const row = [...weights.subarray(at * SIZE, at * SIZE + at + 1)];
  const largest = row.indexOf(Math.max(...row));
  const distance = at - largest;
  const place = distance === 0 ? "at itself" : `${distance} back`;
  return `“${shown([...text.value][at])}” looks mostly ${place}, with weight ${percent(row[largest])}.`;
}

function draw() {
  const isEmpty = text.value === "";
  element("continue").disabled = isEmpty || text.value.length >= text.maxLength;
  for (const id of ["first", "second", "dials"]) if (isEmpty) element(id).replaceChildren();
  if (isEmpty) {
    element("next").value = element("where").value = "";
    return;
  }
  const { first, second, probabilities } = runHeads(text.value, scaling);
  const best = probabilities.indexOf(Math.max(...probabilities));
  guessed = letterAt(best);
  element("next").value = `${shown(guessed)} (${percent(probabilities[best])})`;
  const at = Math.min(chosen ?? Infinity, [...text.value].length - 1);
  drawLetters("first", first, at);
  drawLetters("second", second, at);
  drawDials(at);
  element("where").value = describe(first, at);
}

for (const name of Object.keys(SCALINGS)) {
  const label = document.createElement("label");
  const choice = Object.assign(document.createElement("input"), { type: "radio", name: "scaling", value: name });
  choice.checked = name === scaling;
  choice.onchange = () => {
    scaling = name;
    draw();
  };
  label.append(choice, ` ${TITLES[name]}`);
  element("scalings").append(label);
}

text.oninput = () => {
  chosen = undefined;
  draw();
};
element("continue").onclick = () => {
  text.value += guessed;
  text.oninput();
};
text.value = START;
draw();
